package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/model/demo"
)

// echo answers with what the person said last, and calls the clock in the first cycle.
var echo = said(func(req *model.Request) ([]model.Chunk, error) {
	if req.Cycle == 1 && len(req.Tools) > 0 {
		return []model.Chunk{
			{Kind: model.ChunkCall, ID: fmt.Sprint("call ", len(req.Messages)), Text: "clock"}, {Kind: model.ChunkUsage, Usage: &event.Usage{Input: 1, Output: 2}}, stop,
		}, nil
	}
	m := req.Messages[len(req.Messages)-1]
	return []model.Chunk{{Kind: model.ChunkText, Text: "You said "}, {Kind: model.ChunkText, Text: m.Text()}, stop}, nil
})

// recording records what f does.
func recording(t *testing.T, m model.Model, f func(model.Model), opts ...cassette.Option) []byte {
	t.Helper()
	var tape bytes.Buffer
	rec := cassette.Record(m, &tape, opts...)
	f(rec)
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	return tape.Bytes()
}

func open(t *testing.T, tape []byte, opts ...cassette.Option) *cassette.Player {
	t.Helper()
	p, err := cassette.Replay(bytes.NewReader(tape), opts...)
	if err != nil {
		t.Fatalf("%v\n%s", err, tape)
	}
	return p
}

func clock(says string) braid.Part {
	return braid.Func("clock", "Tells the time.", func(context.Context, struct{}) (string, error) { return says, nil })
}

// Another request than the one that was recorded never gets its answer: the error
// says where they differ and what to do.
func TestAnotherRequestIsAnError(t *testing.T) {
	t.Parallel()
	run := func(m model.Model, input string, parts ...braid.Part) error {
		_, err := braid.New("a", m, parts...).Run(t.Context(), input)
		return err
	}
	base := []braid.Part{clock("noon"), braid.Instructions("You lead."), braid.Options(model.Options{MaxTokens: 9})}
	tape := recording(t, echo, func(m model.Model) {
		if err := run(m, "What is 6 times 7?", base...); err != nil {
			t.Fatal(err)
		}
	})
	for name, c := range map[string]struct {
		input string
		parts []braid.Part
		kind  event.ErrorKind
		words []string
	}{
		"the same": {"What is 6 times 7?", base, "", nil},
		"another input": {
			"What is 6 times 8?", base, event.ErrConflict,
			[]string{`message 1 (user), block 1, text is "What is 6 times 8?", the recording has "What is 6 times 7?"`, "call (run 1, cycle 1) (request 1, line 4)", "record it again"},
		},
		"other instructions": {
			"What is 6 times 7?",
			[]braid.Part{base[0], braid.Instructions("You follow."), base[2]},
			event.ErrConflict,
			[]string{`the instructions is "You follow.", the recording has "You lead."`},
		},
		"other tools":   {"What is 6 times 7?", base[1:], event.ErrConflict, []string{`the list of tools is "", the recording has "clock"`}},
		"other options": {"What is 6 times 7?", base[:2], event.ErrConflict, []string{`the model's options`, "max_tokens"}},
		"another result": {
			"What is 6 times 7?",
			[]braid.Part{clock("one"), base[1], base[2]},
			event.ErrConflict,
			[]string{`message 3 (user), block 1, content[0], text is "one", the recording has "noon"`, "request 2"},
		},
	} {
		player := open(t, tape)
		err := run(player, c.input, c.parts...)
		if event.KindOf(err) != c.kind && (err != nil || c.kind != "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no %q in %q", name, w, err)
			}
		}
		if (player.Err() == nil) != (c.kind == "") || (player.Left() == 0) != (c.kind == "") {
			t.Errorf("%s: %d are left, %v", name, player.Left(), player.Err())
		}
	}
}

// Where an agent's agent asks something else, the run says that, and not what came of
// it in the agent above.
func TestTheFirstDifferenceIsTold(t *testing.T) {
	t.Parallel()
	lead := said(func(req *model.Request) ([]model.Chunk, error) {
		if req.Scope == "" && req.Cycle == 1 {
			return []model.Chunk{{Kind: model.ChunkCall, ID: "c", Text: "inner"}, {Kind: model.ChunkCallInput, Text: `{"input":"go"}`}, stop}, nil
		}
		return []model.Chunk{{Kind: model.ChunkText, Text: "fine"}, stop}, nil
	})
	run := func(m model.Model, told string) error {
		inner := braid.New("inner", m, braid.Instructions(told))
		_, err := braid.New("outer", m, braid.AsTool(inner, "Helps.")).Run(t.Context(), "go")
		return err
	}
	tape := recording(t, lead, func(m model.Model) {
		if err := run(m, "You help."); err != nil {
			t.Fatal(err)
		}
	})
	if err := run(open(t, tape), "You help."); err != nil {
		t.Errorf("the same: %v", err)
	}
	err := run(open(t, tape), "You do not.")
	if event.KindOf(err) != event.ErrConflict || !strings.Contains(err.Error(), `the instructions is "You do not.", the recording has "You help."`) {
		t.Errorf("another: %v", err)
	}
}

// "[redacted]" fits what it may stand for, and nothing around it.
func TestWhatRedactedFits(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]bool{
		"a [redacted] b [redacted] c": true, "a x b y c": true, "a  b  c": true, "a \"q\" b \n c": true, "a b b b c": true,
		"A x b y c": false, "a x b y C": false, "a x y c": false, "x": false, "a x b": false, "b x a x b y c": false,
	} {
		tape := header + named + setup +
			`{"kind":"request","n":1,"model":1,"run":1,"cycle":1,"attempt":1,"setup":1,` +
			`"messages":[{"role":"user","content":[{"kind":"text","text":"a [redacted] b [redacted] c"}]}]}` + "\n" + answer + over
		_, err := braid.New("a", open(t, []byte(tape))).Run(t.Context(), asked)
		if (err == nil) != want {
			t.Errorf("%q: %v", asked, err)
		}
	}
}

// More than was recorded, and the same once more, are errors too.
func TestARecordingIsPlayedOnce(t *testing.T) {
	t.Parallel()
	ask := func(m model.Model, conv *braid.Conversation, input string) error {
		_, err := braid.New("a", m).Run(t.Context(), input, braid.In(conv))
		return err
	}
	tape := recording(t, echo, func(m model.Model) {
		if err := ask(m, braid.NewConversation(), "one"); err != nil {
			t.Fatal(err)
		}
	})
	for _, opts := range [][]cassette.Option{nil, {cassette.InOrder()}} {
		player := open(t, tape, opts...)
		conv := braid.NewConversation()
		if err := ask(player, conv, "one"); err != nil {
			t.Fatal(err)
		}
		err := ask(player, conv, "two")
		if event.KindOf(err) != event.ErrNotFound || !strings.Contains(err.Error(), "the recording is over") {
			t.Errorf("a second run: %v", err)
		}
	}
	// Calls that no loop makes come in their order, and again.
	req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hi"}}}}}
	n := 0
	counting := said(func(*model.Request) ([]model.Chunk, error) {
		n++
		return []model.Chunk{{Kind: model.ChunkText, Text: fmt.Sprint(n)}, stop}, nil
	})
	hear := func(m model.Model) (text string, err error) {
		for c, e := range m.Stream(t.Context(), req) {
			text, err = text+c.Text, e
		}
		return text, err
	}
	tape = recording(t, counting, func(m model.Model) { _, _ = hear(m); _, _ = hear(m) })
	player := open(t, tape)
	for _, want := range []string{"1", "2"} {
		if text, err := hear(player); text != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if _, err := hear(player); event.KindOf(err) != event.ErrNotFound || !strings.Contains(err.Error(), "was replayed already") {
		t.Errorf("once more: %v", err)
	}
}

// A result of a tool that is another one each time is told of, once, where that is
// wanted, and the recorded answer goes on.
func TestDriftingResults(t *testing.T) {
	t.Parallel()
	two := func(m model.Model, at string) error {
		conv := braid.NewConversation()
		for _, input := range []string{"one", "two"} {
			if _, err := braid.New("a", m, clock(at)).Run(t.Context(), input, braid.In(conv)); err != nil {
				return err
			}
		}
		return nil
	}
	tape := recording(t, echo, func(m model.Model) {
		if err := two(m, "noon"); err != nil {
			t.Fatal(err)
		}
	})
	var told []cassette.Drift
	player := open(t, tape, cassette.Drifting(func(d cassette.Drift) { told = append(told, d) }))
	if err := two(player, "night"); err != nil {
		t.Fatal(err)
	}
	want := []cassette.Drift{{"call 1", "clock", `"noon"`, `"night"`}, {"call 5", "clock", `"noon"`, `"night"`}}
	if d := cmp.Diff(want, told); d != "" || player.Left() != 0 {
		t.Errorf("-want +got:\n%s, %d left", d, player.Left())
	}
	if err := two(open(t, tape, cassette.Drifting(nil)), "night"); err != nil {
		t.Errorf("told to nobody: %v", err)
	}
	if err := two(open(t, tape), "night"); event.KindOf(err) != event.ErrConflict {
		t.Errorf("not wanted: %v", err)
	}
}

// Conversations at the same time find their own recorded runs, in whatever order
// they come.
func TestRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const n = 20
	all := func(m model.Model, from, step int) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				input := fmt.Sprint("input ", (from+i*step+n)%n)
				agent := braid.New("a", m, clock("noon"))
				conv := braid.NewConversation()
				for range 2 {
					res, err := agent.Run(context.Background(), input, braid.In(conv))
					if err != nil || !strings.HasPrefix(res.Text(), "You said ") {
						t.Errorf("%s: %v, %v", input, res, err)
					}
				}
			})
		}
		wg.Wait()
	}
	tape := recording(t, uncertain{}, func(m model.Model) { all(m, 0, 1) })
	player := open(t, tape)
	all(player, 7, -1)
	if player.Left() != 0 || player.Err() != nil {
		t.Errorf("%d are left, %v", player.Left(), player.Err())
	}
}

// Conversations that are kept nowhere count their runs each from one, and those of a
// store name them at random: one's recording is the other's.
func TestRunsOfOneName(t *testing.T) {
	t.Parallel()
	unnamed := said(func(req *model.Request) ([]model.Chunk, error) {
		if req.Cycle == 1 { // the loop names the call, after the run
			return []model.Chunk{{Kind: model.ChunkCall, Text: "clock"}, stop}, nil
		}
		return echo(req)
	})
	talk := func(m model.Model, conv func() *braid.Conversation) {
		for range 3 {
			c := conv()
			for _, input := range []string{"one", "two"} {
				if _, err := braid.New("a", m, clock("noon")).Run(t.Context(), input, braid.In(c)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	own := braid.NewConversation
	store, n := journal.NewMemory(journal.MemoryOptions{}), 0
	kept := func() *braid.Conversation {
		n++
		return braid.Open(store, fmt.Sprint("c", n))
	}
	for name, c := range map[string][2]func() *braid.Conversation{
		"both by counting": {own, own}, "recorded by counting": {own, kept}, "replayed by counting": {kept, own}, "neither": {kept, kept},
	} {
		for _, opts := range [][]cassette.Option{nil, {cassette.InOrder()}} {
			player := open(t, recording(t, unnamed, func(m model.Model) { talk(m, c[0]) }), opts...)
			talk(player, c[1])
			if player.Left() != 0 {
				t.Errorf("%s: %d are left", name, player.Left())
			}
		}
	}
}

// uncertain answers with the first message.
type uncertain struct{}

func (uncertain) Info() model.Info { return model.Info{Name: "uncertain"} }
func (uncertain) Stream(ctx context.Context, req *model.Request) seq {
	if req.Cycle == 1 {
		return echo.Stream(ctx, req)
	}
	return said(func(req *model.Request) ([]model.Chunk, error) {
		return []model.Chunk{{Kind: model.ChunkText, Text: "You said " + req.Messages[0].Text()}, stop}, nil
	}).Stream(ctx, req)
}

// In order means in order, and says so.
func TestInOrder(t *testing.T) {
	t.Parallel()
	ask := func(m model.Model, cycle int) error {
		req := &model.Request{Run: "r", Cycle: cycle, Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hi"}}}}}
		for _, err := range m.Stream(t.Context(), req) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	tape := recording(t, echo, func(m model.Model) { _ = ask(m, 1); _ = ask(m, 2) })
	free := open(t, tape)
	if err := errors.Join(ask(free, 2), ask(free, 1)); err != nil {
		t.Errorf("by their places: %v", err)
	}
	err := ask(open(t, tape, cassette.InOrder()), 2)
	if event.KindOf(err) != event.ErrConflict || !strings.Contains(err.Error(), "goes on with call (run 1, cycle 1), and this is call (run 1, cycle 2) of said") {
		t.Errorf("in order: %v", err)
	}
}

// A replay is what was recorded, and says that it is one.
func TestInfo(t *testing.T) {
	t.Parallel()
	inner, err := demo.Load("tour")
	if err != nil {
		t.Fatal(err)
	}
	rec := cassette.Record(inner, io.Discard)
	if rec.Unwrap() != model.Model(inner) || rec.Info().Name != "demo:tour" || rec.Info().Replay {
		t.Errorf("recorded: %+v", rec.Info())
	}
	tape := recording(t, priced{}, func(m model.Model) {
		_, err := braid.New("a", m).Run(t.Context(), "hi")
		if err != nil {
			t.Fatal(err)
		}
	})
	info := open(t, tape).Info()
	if n, known := info.Cost(event.Usage{Input: 3, Total: 3}); n != 21 || !known {
		t.Errorf("cost %d, %v", n, known)
	}
	if _, known := info.Cost(event.Usage{Input: 5}); known {
		t.Error("a price for what was never used")
	}
	info.Cost = nil
	if d := cmp.Diff(model.Info{Name: "priced", ContextWindow: 5, Output: true, Simulated: true, Replay: true}, info); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := open(t, tape).Model("odd"); event.KindOf(err) != event.ErrModelNotFound {
		t.Errorf("a model that is not there: %v", err)
	}
	if in := open(t, tape).Inputs(); len(in) != 1 || in[0] != "hi" {
		t.Errorf("inputs %q", in)
	}
}

type priced struct{}

func (priced) Info() model.Info {
	return model.Info{
		Name: "priced", ContextWindow: 5, Output: true, Simulated: true, Cost: func(u event.Usage) (int64, bool) { return 7 * u.Input, true },
	}
}

func (priced) Stream(ctx context.Context, req *model.Request) seq {
	return said(func(*model.Request) ([]model.Chunk, error) {
		return []model.Chunk{{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 3}}, stop}, nil
	}).Stream(ctx, req)
}

// picky cannot be asked for stop words.
type picky struct{ said }

func (picky) Check(req *model.Request) error {
	if len(req.Options.StopWords) > 0 {
		return &event.Error{Kind: event.ErrUnsupported, Message: "no stop words"}
	}
	return nil
}

// What the recorded model knows beforehand is known of it while it is recorded.
func TestChecksAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	stops := braid.Options(model.Options{StopWords: []string{"x"}})
	if err := braid.New("a", cassette.Record(picky{echo}, io.Discard), stops).Err(); event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("recorded: %v", err)
	}
	if err := braid.New("a", cassette.Record(picky{echo}, io.Discard)).Err(); err != nil {
		t.Errorf("without them: %v", err)
	}
}

// A replay is as fast as it can be, or keeps the time of the recording.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner, err := demo.Load("tour", demo.Pace(demo.Timing{FirstByte: time.Second, Rate: 10}))
		if err != nil {
			t.Fatal(err)
		}
		took := func(m model.Model) time.Duration {
			begun := time.Now()
			_, _ = braid.New("a", m).Run(t.Context(), "Show me what you can do.")
			return time.Since(begun)
		}
		var recorded time.Duration
		tape := recording(t, inner, func(m model.Model) { recorded = took(m) })
		if recorded < time.Second {
			t.Fatalf("the recording took %v", recorded)
		}
		for _, c := range []struct {
			opt  cassette.Option
			want time.Duration
		}{{cassette.Paced(0), 0}, {cassette.Paced(1), recorded}, {cassette.Paced(4), recorded / 4}} {
			if got := took(open(t, tape, c.opt)); (got - c.want).Abs() > 10*time.Millisecond {
				t.Errorf("took %v, want %v", got, c.want)
			}
		}
		// Who goes while he waits is let go at once.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err = braid.New("a", open(t, tape, cassette.Paced(1))).Run(ctx, "Show me what you can do.")
		if event.KindOf(err) != event.ErrTimeout || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// A recorded call that its caller ended waits for him to end it, but not for ever.
func TestACallThatWasCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := said(func(*model.Request) ([]model.Chunk, error) {
			return []model.Chunk{{Kind: model.ChunkText, Text: "one"}, {Kind: model.ChunkText, Text: "two"}, stop}, nil
		})
		hear := func(ctx context.Context, m model.Model, most int) (text string, err error) {
			for c, e := range m.Stream(ctx, &model.Request{}) {
				text, err = text+c.Text, e
				if most--; most == 0 {
					break
				}
			}
			return text, err
		}
		tape := recording(t, inner, func(m model.Model) { _, _ = hear(t.Context(), m, 1) })
		begun := time.Now()
		text, err := hear(t.Context(), open(t, tape), 0)
		if text != "one" || event.KindOf(err) != event.ErrCancelled || !strings.Contains(err.Error(), "the recording ends here") || time.Since(begun) != cassette.Patience {
			t.Errorf("%q, %v after %v", text, err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		begun = time.Now()
		if text, _ = hear(ctx, open(t, tape), 0); text != "one" || time.Since(begun) != time.Millisecond {
			t.Errorf("%q after %v", text, time.Since(begun))
		}
		// What a model still said to one who was gone is said again.
		late := func(m model.Model) (text string, err error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for c, e := range m.Stream(ctx, &model.Request{}) {
				text, err = text+c.Text, e
				cancel()
			}
			return text, err
		}
		slow := said(func(*model.Request) ([]model.Chunk, error) {
			return []model.Chunk{{Kind: model.ChunkText, Text: "one"}, {Kind: model.ChunkText, Text: "two"}}, context.Canceled
		})
		tape = recording(t, slow, func(m model.Model) { _, _ = late(m) })
		if text, err := late(open(t, tape)); text != "onetwo" || !errors.Is(err, context.Canceled) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// What the log hides from a model is not what was asked before: the replay of a
// conversation in which something was taken back goes the same way.
func TestRedactedInTheLog(t *testing.T) {
	t.Parallel()
	guarded := said(func(req *model.Request) ([]model.Chunk, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "bomb") {
			return []model.Chunk{
				{Kind: model.ChunkText, Text: "Well, "},
				{Kind: model.ChunkRedactInput, Text: "[blocked]"},
				{Kind: model.ChunkRedactOutput, Text: "I cannot."},
				{Kind: model.ChunkStop, Stop: event.StopGuardrail},
			}, nil
		}
		return []model.Chunk{{Kind: model.ChunkText, Text: fmt.Sprint(len(req.Messages), req.Messages[0].Text())}, stop}, nil
	})
	talk := func(m model.Model) (events []event.Event) {
		conv := braid.NewConversation()
		for _, input := range []string{"a bomb", "and now?"} {
			for e, err := range braid.New("a", m).Stream(t.Context(), input, braid.In(conv)) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
			}
		}
		return events
	}
	var was []event.Event
	tape := recording(t, guarded, func(m model.Model) { was = talk(m) })
	player := open(t, tape)
	if d := cmp.Diff(lines(t, was), lines(t, talk(player))); d != "" || player.Left() != 0 {
		t.Errorf("-recorded +replayed:\n%s", d)
	}
	all := strings.Join(lines(t, was), "\n")
	if !strings.Contains(all, `"kind":"redacted"`) {
		t.Error("nothing was redacted, so this shows nothing")
	}
}
