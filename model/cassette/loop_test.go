package cassette_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

// random is a model whose answers are anything that a model may say, decided by its
// seed and the place of the call.
type random struct {
	name  string
	seed  uint64
	price bool
	wild  int // of ten answers, how many go wrong
}

func (m *random) Info() model.Info {
	info := model.Info{Name: m.name, ContextWindow: 1000}
	if m.price {
		info.Cost = func(u event.Usage) (int64, bool) { return 7*u.Input + u.Output, u.Input%2 == 0 }
	}
	return info
}

// seq is what a model answers.
type seq = iter.Seq2[model.Chunk, error]

var words = []string{"It ", "is ", "8", "。", "日本", "\n", "é", `"quoted"`, "\u2028", "<b>", " ", "", "a long word that goes on "}

func (m *random) Stream(ctx context.Context, req *model.Request) seq {
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, "|", req.Scope, "|", req.Cycle, "|", req.Attempt, "|", len(req.Messages))
	r := rand.New(rand.NewPCG(m.seed, h.Sum64()))
	chunks, failed := m.answer(r, req)
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if ctx.Err() != nil {
				yield(model.Chunk{}, ctx.Err())
				return
			}
			time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
			if !yield(c, nil) {
				return
			}
		}
		if failed != nil {
			yield(model.Chunk{}, failed)
		}
	}
}

// split cuts a text anywhere, also inside a character.
func split(r *rand.Rand, kind model.ChunkKind, index int, text string) []model.Chunk {
	var out []model.Chunk
	for text != "" {
		n := 1 + r.IntN(min(len(text), 6))
		out = append(out, model.Chunk{Kind: kind, Index: index, Text: text[:n]})
		text = text[n:]
	}
	return out
}

func (m *random) answer(r *rand.Rand, req *model.Request) (out []model.Chunk, failed error) {
	say := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var blocks [][]model.Chunk
	for i := range 1 + r.IntN(3) {
		switch r.IntN(5) {
		case 0:
			block := split(r, model.ChunkThinking, i, say())
			blocks = append(blocks, append(block, model.Chunk{Kind: model.ChunkSignature, Index: i, Text: "c2ln" + pick("A", "B")}))
		case 1:
			blocks = append(blocks, []model.Chunk{{Kind: model.ChunkBlock, Index: i, Block: [...]event.Block{
				&event.Citation{Title: "t", Quote: say(), Start: 1, End: 4}, &event.RedactedThinking{Data: "xx=="},
				&event.UnknownBlock{Name: "odd", Raw: json.RawMessage(`{"kind": "odd", "x": [1, 2 ]}`)},
			}[r.IntN(3)]}})
		default:
			blocks = append(blocks, split(r, model.ChunkText, i, say()))
		}
	}
	if req.Cycle < 4 {
		for i := range r.IntN(4) {
			name := pick("add", "fail", "inner", "unknown", "slow")
			id := pick("", fmt.Sprintf("call_%s_%d_%d", req.Scope, req.Cycle, i))
			args := pick(`{"input":"go"}`, `{"a": 3, "b": 5}`, `{"a":`, ``, `{"input":"日本","x":"\u00e9"}`)
			index := 10 + i
			blocks = append(blocks, append([]model.Chunk{{Kind: model.ChunkCall, Index: index, ID: id, Text: name}},
				split(r, model.ChunkCallInput, index, args)...))
		}
	}
	for len(blocks) > 0 { // interleaved
		i := r.IntN(len(blocks))
		if len(blocks[i]) > 0 {
			out, blocks[i] = append(out, blocks[i][0]), blocks[i][1:]
		} else {
			blocks = slices.Delete(blocks, i, i+1)
		}
	}
	if r.IntN(3) == 0 {
		out = append(out, model.Chunk{Kind: model.ChunkResponse, ID: "resp_1", Text: "random-2026"})
	}
	if r.IntN(4) > 0 {
		out = append(out, model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: r.Int64N(50), Output: r.Int64N(9), Reasoning: 2}})
	}
	if r.IntN(10) < m.wild {
		out = out[:r.IntN(len(out)+1)]
		return out, [...]error{
			&event.Error{
				Op: "model x", Kind: event.ErrThrottled, Message: "slow down", Hint: "wait", Code: "rate_limit", RetryAfter: 3 * time.Millisecond,
				Err: errors.New("cause"),
			},
			fmt.Errorf("wrapped: %w", &event.Error{Kind: event.ErrOverloaded, Message: "busy"}),
			errors.New("plain"), event.ErrOverloaded, nil,
			&event.Error{Kind: event.ErrModelAuth, Message: "no"},
		}[r.IntN(6)]
	}
	return append(out, model.Chunk{Kind: model.ChunkStop, Stop: event.StopReason(pick("", "end_turn", "tool_use", "odd", "max_tokens"))}), nil
}

// world is an agent and what is done with it.
type world struct {
	seed       uint64
	wild       int
	price      bool
	sequential bool
	two        bool // the inner agent has a model of its own
	inputs     []string
	cancelAt   int // cancels the run at that delta; 0 never
}

func drawWorld(t *rapid.T, parallel bool) world {
	return world{
		seed: rapid.Uint64().Draw(t, "seed"), wild: rapid.IntRange(0, 4).Draw(t, "wild"), price: rapid.Bool().Draw(t, "price"),
		sequential: !parallel, two: rapid.Bool().Draw(t, "two"),
		inputs:   rapid.SliceOfN(rapid.SampledFrom([]string{"go", "3 + 5", "日本"}), 1, 3).Draw(t, "inputs"),
		cancelAt: rapid.SampledFrom([]int{0, 0, 1, 2, 5, 9}).Draw(t, "cancel"),
	}
}

type fields struct {
	Input string `json:"input,omitempty"`
	A     int    `json:"a,omitempty"`
	B     int    `json:"b,omitempty"`
	X     string `json:"x,omitempty"`
}

// agent is the world's agent with these models.
func (w *world) agent(outer, inner model.Model) *braid.Agent {
	add := braid.Func("add", "Adds.", func(_ context.Context, f fields) (int, error) { return f.A + f.B, nil })
	fail := braid.Func("fail", "Fails.", func(context.Context, fields) (int, error) { return 0, errors.New("it broke") })
	slow := braid.Func("slow", "Takes its time.", func(ctx context.Context, f fields) (string, error) {
		tool.Progress(ctx, "half")
		time.Sleep(5 * time.Millisecond)
		return f.X, nil
	})
	parts := []braid.Part{add, fail, slow, braid.Retries(braid.Retry{Attempts: 3, Base: time.Millisecond, Exact: true})}
	if w.sequential {
		parts = append(parts, braid.Sequential())
	}
	in := braid.New("inner", inner, append(slices.Clone(parts), braid.Instructions("You help."))...)
	return braid.New("outer", outer, append(parts, braid.AsTool(in, "Helps."), braid.Instructions("You lead."))...)
}

// play does what the world does and gives all that happened, with the errors of its runs.
func (w *world) play(t *testing.T, agent *braid.Agent) (events []event.Event, ends []string) {
	t.Helper()
	conv := braid.NewConversation()
	for _, input := range w.inputs {
		ctx, cancel := context.WithCancel(context.Background())
		deltas := 0
		end := "ok"
		for e, err := range agent.Stream(ctx, input, braid.In(conv)) {
			if err != nil {
				end = err.Error() + " " + string(event.KindOf(err))
				break
			}
			events = append(events, e)
			if _, is := e.Body.(*event.TextDelta); is {
				if deltas++; deltas == w.cancelAt {
					cancel()
				}
			}
		}
		cancel()
		ends = append(ends, end)
	}
	return events, ends
}

// lines are the events without the times and names that are a run's own.
func lines(t *testing.T, events []event.Event) []string {
	t.Helper()
	out := make([]string, len(events))
	for i, e := range events {
		e.Time, e.Conversation = time.Time{}, ""
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			m := *b
			m.Latency, m.TimeToFirstByte = 0, 0
			e.Body = &m
		case *event.StepEnded:
			s := *b
			s.Duration, s.RetryAt = 0, time.Time{}
			e.Body = &s
		case *event.RunEnded:
			r := *b
			r.Duration = 0
			e.Body = &r
		}
		line, err := event.AppendJSON(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(line)
	}
	return out
}

// unordered are the events of each scope and step in their order, whatever the
// others did meanwhile.
func unordered(t *testing.T, events []event.Event) map[string][]string {
	t.Helper()
	for i := range events {
		e := &events[i]
		e.Seq, e.N = 0, 0
	}
	out := map[string][]string{}
	for i, line := range lines(t, events) {
		e := &events[i]
		key := e.Run + "|" + e.Scope + "|" + e.Step
		out[key] = append(out[key], line)
	}
	return out
}

func (w *world) record(out io.Writer, opts ...cassette.Option) (*braid.Agent, *cassette.Recorder) {
	outer := cassette.Record(&random{"random:outer", w.seed, w.price, w.wild}, out, opts...)
	inner := outer
	if w.two {
		inner = outer.Also(&random{"random:inner", w.seed + 1, false, w.wild})
	}
	return w.agent(outer, inner), outer
}

func (w *world) replay(t *testing.T, tape []byte, opts ...cassette.Option) (*braid.Agent, *cassette.Player) {
	t.Helper()
	outer, err := cassette.Replay(bytes.NewReader(tape), opts...)
	if err != nil {
		t.Fatalf("%v\n%s", err, tape)
	}
	inner := outer
	if w.two {
		if inner, err = outer.Model("random:inner"); err != nil {
			t.Fatal(err)
		}
	}
	return w.agent(outer, inner), outer
}

// bubble runs f with a clock of its own. What fails there is told outside, because
// rapid ends a goroutine that is not the test's.
func bubble(t *testing.T, rt *rapid.T, f func(fail func(string, ...any))) {
	t.Helper()
	problem := ""
	synctest.Test(t, func(*testing.T) {
		f(func(format string, args ...any) { problem = fmt.Sprintf(format, args...) })
	})
	if problem != "" {
		rt.Fatal(problem)
	}
}

// A recording replays bit for bit through the whole loop: every event with its place,
// text, borders, usage, stop and error.
func TestReplayIsBitForBit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, false)
		inOrder := rapid.Bool().Draw(rt, "in order")
		bubble(t, rt, func(fail func(string, ...any)) {
			var tape bytes.Buffer
			agent, rec := w.record(&tape)
			events, ends := w.play(t, agent)
			if err := rec.Err(); err != nil {
				fail("%v", err)
				return
			}
			var opts []cassette.Option
			if inOrder {
				opts = append(opts, cassette.InOrder())
			}
			again, player := w.replay(t, tape.Bytes(), opts...)
			replayed, endsAgain := w.play(t, again)
			if d := cmp.Diff(lines(t, events), lines(t, replayed)); d != "" {
				fail("-recorded +replayed:\n%s\n%s", d, &tape)
				return
			}
			if d := cmp.Diff(ends, endsAgain); d != "" {
				fail("-recorded +replayed:\n%s", d)
				return
			}
			if player.Left() != 0 || player.Err() != nil {
				fail("%d calls are left, %v", player.Left(), player.Err())
			}
		})
	})
}

// The same for tools and agents that work at the same time: each goes its way.
func TestParallelReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, true)
		w.cancelAt = 0
		if w.wild > 0 {
			// What the next run is told of a failed one lists tools in the order in
			// which they ended.
			w.inputs = w.inputs[:1]
		}
		bubble(t, rt, func(fail func(string, ...any)) {
			var tape bytes.Buffer
			agent, _ := w.record(&tape)
			events, _ := w.play(t, agent)
			again, player := w.replay(t, tape.Bytes())
			replayed, _ := w.play(t, again)
			if d := cmp.Diff(unordered(t, events), unordered(t, replayed)); d != "" {
				fail("-recorded +replayed:\n%s\n%s", d, &tape)
				return
			}
			if player.Left() != 0 || player.Err() != nil {
				fail("%d calls are left, %v", player.Left(), player.Err())
			}
		})
	})
}
