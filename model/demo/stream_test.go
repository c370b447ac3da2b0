package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

func request(messages ...event.Message) *model.Request {
	return &model.Request{Run: "run", Cycle: 1, Attempt: 1, Messages: messages}
}

func say(texts ...string) []demo.Piece {
	var out []demo.Piece
	for _, s := range texts {
		out = append(out, demo.Say(s))
	}
	return out
}

func always(pieces ...demo.Piece) demo.Script {
	return demo.Script{Rules: []demo.Rule{{When: demo.When{Round: demo.AnyRound}, Reply: pieces}}}
}

func chunks(ctx context.Context, m model.Model, req *model.Request) (out []model.Chunk, err error) {
	for c, e := range m.Stream(ctx, req) {
		if e != nil {
			return out, e
		}
		out = append(out, c)
	}
	return out, nil
}

func TestStreamComesInSmallWholePieces(t *testing.T) {
	t.Parallel()
	text := "Hello, 世界！ 🙂 3と5を足した結果は8です。 " + strings.Repeat("x", 50)
	m := script(t, always(demo.Think("Hm. 考え中です。"), demo.Say(text), demo.Call("add", `{"a": 3, "b": "x長い文字列です"}`)))
	got, err := chunks(t.Context(), m, request(user("go")))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []model.ChunkKind
	said := map[model.ChunkKind]string{}
	for _, c := range got {
		if len(kinds) == 0 || kinds[len(kinds)-1] != c.Kind {
			kinds = append(kinds, c.Kind)
		}
		said[c.Kind] += c.Text
		if !utf8.ValidString(c.Text) || len(c.Text) > 40 {
			t.Errorf("piece %q is no whole text, or long", c.Text)
		}
	}
	want := []model.ChunkKind{model.ChunkThinking, model.ChunkText, model.ChunkCall, model.ChunkCallInput, model.ChunkUsage, model.ChunkStop}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("order of pieces -want +got:\n%s", d)
	}
	if said[model.ChunkText] != text || said[model.ChunkThinking] != "Hm. 考え中です。" || said[model.ChunkCallInput] != `{"a":3,"b":"x長い文字列です"}` {
		t.Errorf("said %q", said)
	}
	if len(got) < 20 {
		t.Errorf("only %d pieces", len(got))
	}
	if last := got[len(got)-1]; last.Stop != event.StopToolUse {
		t.Errorf("stop reason %q", last.Stop)
	}
}

func TestCharactersSetsTheSizeOfPieces(t *testing.T) {
	t.Parallel()
	m := script(t, always(demo.Say("日本語 abc")), demo.Characters(2))
	got, err := chunks(t.Context(), m, request(user("go")))
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for _, c := range got {
		if c.Kind == model.ChunkText {
			pieces = append(pieces, c.Text)
		}
	}
	if d := cmp.Diff([]string{"日本", "語 ", "ab", "c"}, pieces); d != "" {
		t.Error(d)
	}
}

// Seed 2's answers, its token counts, and its times to the nanosecond.
func TestSeed2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := load(t, "seed2", demo.Realtime(1))
		req := request(user("3と5を足して"))
		req.Tools = []model.ToolSpec{spec("add", twoNumbers)}
		type measured struct {
			Message      event.Message
			Usage        event.Usage
			Stop         event.StopReason
			First, Total time.Duration
		}
		ask := func() measured {
			var out measured
			start := time.Now()
			timed := timer{Model: m, first: func() { out.First = time.Since(start) }}
			out.Message, out.Usage, out.Stop = whole(t, timed, req)
			out.Total = time.Since(start)
			return out
		}
		first := ask()
		want := measured{
			Message: event.Message{Role: event.RoleAssistant, Content: []event.Block{
				&event.Text{Text: "3と5を足し算します。"},
				&event.ToolCall{ID: "tooluse_xxxxxx", Name: "add", Args: json.RawMessage(`{"a":3,"b":5}`)},
			}},
			Usage: event.Usage{Input: 680, Output: 79, Total: 759}, Stop: event.StopToolUse,
			First: 969 * time.Millisecond, Total: 1299 * time.Millisecond,
		}
		if d := cmp.Diff(want, first); d != "" {
			t.Errorf("first answer -want +got:\n%s", d)
		}
		req.Messages = append(req.Messages, first.Message, result("tooluse_xxxxxx", "add", "8", false))
		req.Cycle = 2
		second := ask()
		want = measured{
			Message: event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "3と5を足した結果は8です。"}}},
			Usage:   event.Usage{Input: 772, Output: 15, Total: 787}, Stop: event.StopEndTurn,
			First: 708 * time.Millisecond, Total: 814 * time.Millisecond,
		}
		if d := cmp.Diff(want, second); d != "" {
			t.Errorf("second answer -want +got:\n%s", d)
		}
	})
}

// timer measures the time to the first piece.
type timer struct {
	model.Model
	first func()
}

func (m timer) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		begun := false
		m.Model.Stream(ctx, req)(func(c model.Chunk, err error) bool {
			if !begun {
				begun = true
				m.first()
			}
			return yield(c, err)
		})
	}
}

func TestTiming(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a ", 99) // 66 pieces or so; counted below
	for _, tc := range []struct {
		name         string
		script       demo.Timing
		opts         []demo.Option
		first, total time.Duration // total does not include the pauses between pieces
		perPiece     time.Duration
	}{
		{"off unless asked for", demo.Timing{FirstByte: time.Second, Total: 2 * time.Second}, nil, 0, 0, 0},
		{"real time", demo.Timing{FirstByte: time.Second, Total: 2 * time.Second}, []demo.Option{demo.Realtime(1)}, time.Second, 2 * time.Second, 0},
		{"twice as fast", demo.Timing{FirstByte: time.Second, Total: 2 * time.Second}, []demo.Option{demo.Realtime(2)}, 500 * time.Millisecond, time.Second, 0},
		{"first byte only", demo.Timing{FirstByte: time.Second}, []demo.Option{demo.Realtime(1)}, time.Second, time.Second, 0},
		{"a rate", demo.Timing{FirstByte: time.Second, Rate: 50}, []demo.Option{demo.Realtime(1)}, time.Second, time.Second, 20 * time.Millisecond},
		{"the option wins", demo.Timing{FirstByte: time.Hour}, []demo.Option{demo.Pace(demo.Timing{Rate: 100})}, 0, 0, 10 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := always(demo.Say(text))
				s.Rules[0].Timing = tc.script
				m := script(t, s, tc.opts...)
				start := time.Now()
				var first, total time.Duration
				n := 0
				var pieces []time.Duration
				for c, err := range m.Stream(t.Context(), request(user("go"))) {
					if err != nil {
						t.Fatal(err)
					}
					pieces = append(pieces, time.Since(start))
					if n == 0 {
						first = time.Since(start)
					}
					if c.Kind != model.ChunkUsage {
						n++
					}
				}
				total = time.Since(start)
				if halfway := pieces[n/2]; tc.first > 0 && tc.total > tc.first && halfway == tc.first {
					t.Error("all pieces came with the first")
				}
				if want := tc.total + tc.perPiece*time.Duration(n-1); first != tc.first || total != want {
					t.Errorf("first after %v, want %v; whole after %v, want %v", first, tc.first, total, want)
				}
			})
		})
	}
}

func TestTheScriptsTimingIsThatOfRulesWithout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(t, demo.Script{Timing: demo.Timing{Total: time.Second}, Rules: []demo.Rule{
			{When: demo.When{User: []string{"slow"}}, Reply: say("one"), Timing: demo.Timing{Total: time.Hour}},
			{Reply: say("two")},
		}})
		for said, want := range map[string]time.Duration{"slow": time.Hour, "go": time.Second} {
			for speed, want := range map[float64]time.Duration{0: 0, 1: want, 4: want / 4, -1: 0} {
				start := time.Now()
				whole(t, m.Realtime(speed), request(user(said)))
				if got := time.Since(start); got != want {
					t.Errorf("%s at speed %v: %v, want %v", said, speed, got, want)
				}
			}
		}
	})
}

// A slow reader does not also wait for the pauses.
func TestASlowReaderIsNotSlowedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(t, always(demo.Say(strings.Repeat("word ", 20))), demo.Pace(demo.Timing{Total: 10 * time.Second}))
		start := time.Now()
		for _, err := range m.Stream(t.Context(), request(user("go"))) {
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Millisecond)
		}
		if got := time.Since(start); got > 10*time.Second+5*time.Millisecond {
			t.Errorf("took %v", got)
		}
	})
}

func TestTheContextEndsAnAnswerAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts []demo.Option
		text string
	}{
		"while it waits for the first byte": {[]demo.Option{demo.Pace(demo.Timing{FirstByte: time.Hour})}, "hello"},
		"between pieces":                    {[]demo.Option{demo.Pace(demo.Timing{Total: time.Hour})}, "hello there"},
		"while it stalls":                   {[]demo.Option{demo.Faults(demo.Fault{Kind: demo.FaultStall})}, "hello"},
		"while it stalls in the middle":     {[]demo.Option{demo.Faults(demo.Fault{Kind: demo.FaultStall, After: 1})}, "hello there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := script(t, always(demo.Say(tc.text)), tc.opts...)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				_, err := chunks(ctx, m, request(user("go")))
				if !errors.Is(err, event.ErrCancelled) || time.Since(start) != time.Second {
					t.Errorf("cancelled: %v after %v", err, time.Since(start))
				}
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err = chunks(ctx, m, request(user("go"))); !errors.Is(err, event.ErrTimeout) {
					t.Errorf("timed out: %v", err)
				}
			})
		})
	}
	t.Run("while it is as fast as it can", func(t *testing.T) {
		t.Parallel()
		m := script(t, always(demo.Say(strings.Repeat("word ", 100))))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		var err error
		for _, err = range m.Stream(ctx, request(user("go"))) {
			if n++; n == 3 {
				cancel()
			}
		}
		if !errors.Is(err, event.ErrCancelled) || n != 4 {
			t.Errorf("%d pieces, then %v", n, err)
		}
		if _, err = chunks(ctx, m, request(user("go"))); !errors.Is(err, event.ErrCancelled) {
			t.Errorf("a dead context: %v", err)
		}
	})
}

func TestBreakingOutStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(t, always(demo.Say("a long answer"), demo.Call("x", "")), demo.Pace(demo.Timing{Total: time.Minute}))
		for i := range 8 {
			n := 0
			for _, err := range m.Stream(t.Context(), request(user("go"))) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n > i {
					break
				}
			}
		}
	})
}

func TestTheSameRequestGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	m := load(t, "assistant")
	req := request(user("12 * 7 and the time"))
	req.Tools = []model.ToolSpec{spec("calculator", `{}`)}
	want, err := chunks(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := chunks(t.Context(), m, req)
				if d := cmp.Diff(want, got); err != nil || d != "" {
					t.Errorf("%v\n%s", err, d)
					return
				}
			}
		})
	}
	wg.Wait()
	// A repeated answer has the same call ids, also in another process.
	again := *req
	again.Attempt = 7
	got, err := chunks(t.Context(), load(t, "assistant"), &again)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("another attempt: %v\n%s", err, d)
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	t.Parallel()
	m := script(t, always(demo.Call("a", ""), demo.Call("a", ""), demo.Call("b", "{}")))
	seen := map[string]bool{}
	n := 0
	for _, run := range []string{"", "r", "r1"} {
		for _, scope := range []string{"", "1", "s"} {
			for cycle := range 3 {
				req := request(user("go"))
				req.Run, req.Scope, req.Cycle = run, scope, cycle
				msg, _, _ := whole(t, m, req)
				for _, c := range msg.Calls() {
					seen[c.ID] = true
					n++
				}
			}
		}
	}
	if len(seen) != n || n != 81 {
		t.Errorf("%d ids for %d calls", len(seen), n)
	}
}

func TestUsageIsEstimatedWhereTheScriptSaysNone(t *testing.T) {
	t.Parallel()
	m := script(t, always(demo.Say("twelve bytes"), demo.Call("add", "")))
	small := request(user("hi"))
	_, a, _ := whole(t, m, small)
	if a.Output < 4 || a.Output > 8 || a.Total != a.Input+a.Output || a.Input == 0 {
		t.Errorf("usage %+v", a)
	}
	big := request(user(strings.Repeat("日本", 100)))
	big.Instructions = strings.Repeat("word", 100)
	big.Tools = []model.ToolSpec{spec("t", strings.Repeat(" ", 400))}
	_, b, _ := whole(t, m, big)
	if b.Input < 380 || b.Input > 440 {
		t.Errorf("200 characters, 100 words and a schema of 400 bytes are %d tokens", b.Input)
	}
	// The count grows with the conversation, also beyond the messages that are counted one by one.
	long := request()
	for range 500 {
		long.Messages = append(long.Messages, user("four byte words here"), event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "yes"}}})
	}
	_, half, _ := whole(t, m, &model.Request{Messages: long.Messages[:501]})
	_, all, _ := whole(t, m, &model.Request{Messages: long.Messages})
	if ratio := float64(all.Input) / float64(half.Input); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("twice the conversation costs %.2f times as much", ratio)
	}
}

func TestTheRequestIsNeverChanged(t *testing.T) {
	t.Parallel()
	req := request(user("12 * 7"))
	req.Tools = []model.ToolSpec{spec("calculator", `{"type":"object"}`)}
	before, err := json.Marshal(req.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chunks(t.Context(), load(t, "assistant"), req); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(req.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) || len(req.Messages) != 1 || req.Messages[0].Text() != "12 * 7" {
		t.Error("the request was changed")
	}
}

func TestNilAndEmptyRequests(t *testing.T) {
	t.Parallel()
	m := load(t, "assistant")
	for _, req := range []*model.Request{nil, {}, request(event.Message{}), request(event.Message{Role: event.RoleUser, Content: []event.Block{nil}})} {
		if _, _, _, err := collect(t.Context(), m, req); err != nil {
			t.Error(err)
		}
	}
}
