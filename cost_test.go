package braid_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// priced is a model of a price, 3 nano-dollars a token, that says what it is given.
type priced struct {
	*script

	name      string
	unknown   bool
	simulated bool
}

func (p *priced) Info() braid.ModelInfo {
	return braid.ModelInfo{Name: p.name, Simulated: p.simulated, Cost: func(u event.Usage) (int64, bool) { return 3 * u.Total, !p.unknown }}
}

func breaks(list []braid.Chunk, err error) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
		yield(braid.Chunk{}, err)
	}
}

// What a run cost, by how its first model call ends; the second one uses 15 tokens.
func TestWhatARunCosts(t *testing.T) {
	t.Parallel()
	text := []braid.Chunk{{Kind: braid.ChunkText, Text: "half"}}
	usage := []braid.Chunk{{Kind: braid.ChunkUsage, Usage: &event.Usage{Input: 7, Total: 7}}}
	for _, c := range []struct {
		name      string
		chunks    []braid.Chunk
		err       error
		unknown   bool
		simulated bool
		step, run *int64
	}{
		{"refused for its rate", nil, fault(event.ErrThrottled), false, false, new(int64(0)), new(int64(45))},
		{"refused for its key", nil, fault(event.ErrModelAuth), false, false, new(int64(0)), new(int64(45))},
		{"refused as too long", nil, fault(event.ErrContextOverflow), false, false, new(int64(0)), new(int64(45))},
		{"refused, by a model of no known price", nil, fault(event.ErrThrottled), true, false, new(int64(0)), nil},
		{"an error that nobody knows", nil, errors.New("reset"), false, false, nil, nil},
		{"not reached", nil, fault(event.ErrUnavailable), false, false, new(int64(0)), new(int64(45))},
		{"silent", nil, fault(event.ErrStreamCut), false, false, nil, nil},
		{"cut in the middle", text, fault(event.ErrStreamCut), false, false, nil, nil},
		{"overloaded in the middle", text, fault(event.ErrOverloaded), false, false, nil, nil},
		{"cut after a part of its usage", usage, fault(event.ErrOverloaded), false, false, nil, nil},
		{"cut, and simulated", text, fault(event.ErrStreamCut), false, true, new(int64(0)), new(int64(45))},
		{"cut after usage, and simulated", usage, fault(event.ErrStreamCut), false, true, new(int64(21)), new(int64(66))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := &priced{name: "p:m", unknown: c.unknown, simulated: c.simulated}
			model.script = &script{next: func(_ context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
				if req.Attempt == 1 {
					return breaks(c.chunks, c.err)
				}
				return chunks(append([]braid.Chunk{{Kind: braid.ChunkResponse, ID: "r", Text: "m-2026-11-20"}}, says("hi")...))
			}}
			kinds := []event.ErrorKind{
				event.ErrThrottled, event.ErrModelAuth, event.ErrContextOverflow, event.ErrUnavailable, event.ErrStreamCut, event.ErrOverloaded,
				event.ErrModel,
			}
			second := &priced{script: model.script, name: "p:n", unknown: c.unknown, simulated: c.simulated}
			conv := braid.NewConversation()
			r, err := braid.New("a", model, braid.Fallback(kinds, second)).Run(t.Context(), "go", braid.In(conv))
			if err != nil {
				t.Fatal(err)
			}
			var step *int64
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *event.StepEnded:
					step = b.CostNanoUSD
				case *event.AssistantMessage:
					if b.Model != "m-2026-11-20" {
						t.Errorf("the message says it is %q", b.Model)
					}
				case *event.RunEnded:
					if diff := cmp.Diff(c.run, b.CostNanoUSD); diff != "" {
						t.Errorf("the run's cost (-want +got):\n%s", diff)
					}
					if n := len(b.Models); b.Models[n-1].Model != "p:n" || b.Models[n-1].Usage.Total != 15 {
						t.Errorf("by model: %s", raw(b.Models))
					}
				}
			}
			if diff := cmp.Diff(c.step, step); diff != "" {
				t.Errorf("the failed call's cost (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.run, r.CostNanoUSD); diff != "" {
				t.Errorf("the result's cost (-want +got):\n%s", diff)
			}
		})
	}
}

// What a call cost that was in flight when its driver died: unknown, but for a model
// that follows a script.
func TestTheCostOfALostCall(t *testing.T) {
	t.Parallel()
	for _, simulated := range []bool{false, true} {
		store := journal.NewMemory(journal.MemoryOptions{})
		row, err := store.Admit(t.Context(), journal.Run{ID: "run", Conversation: "c", Agent: "root"})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := store.Acquire(t.Context(), row.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := journal.Batch{Release: true}
		for i, body := range []event.Body{
			&event.RunStarted{Agent: "root", Turn: 1, Session: 1}, &event.UserMessage{Content: []event.Block{&event.Text{Text: "go"}}},
			&event.StepBegun{Step: event.StepModel, Model: "p:m"},
		} {
			e := &event.Event{Header: event.Header{Seq: int64(i + 1), Conversation: "c", Run: "run"}, Body: body}
			if i == 2 {
				e.Cycle, e.Step, e.Attempt = 1, "m1", 1
			}
			b.Events = append(b.Events, e)
		}
		if err := store.Commit(t.Context(), opened.Lease, b); err != nil {
			t.Fatal(err)
		}
		agent := braid.New("root", &priced{name: "p:m", script: answers(says("hi")), simulated: simulated})
		r, err := agent.Resume(t.Context(), braid.Open(store, "c"))
		if err != nil || (r.CostNanoUSD == nil) == simulated || simulated && *r.CostNanoUSD != 45 {
			t.Errorf("simulated %v: it cost %v, %v", simulated, r.CostNanoUSD, err)
		}
	}
}

// A call that is cancelled before anybody hears of it.
func TestTheCostOfACancelledCall(t *testing.T) {
	t.Parallel()
	for _, simulated := range []bool{false, true} {
		var r braid.Result
		agent := braid.New("root", &priced{name: "p:m", script: answers(says("hi")), simulated: simulated})
		for e, err := range agent.Stream(t.Context(), "go", braid.Into(&r)) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Body.(*event.StepBegun); ok {
				break
			}
		}
		if r.Status != event.RunCancelled || (r.CostNanoUSD == nil) == simulated || simulated && *r.CostNanoUSD != 0 {
			t.Errorf("simulated %v: it is %s and cost %v", simulated, r.Status, r.CostNanoUSD)
		}
	}
}

// An answer without usage has no price, and one row stands for each model, by the name
// that users write, whatever the provider calls it.
func TestCostByModel(t *testing.T) {
	t.Parallel()
	own := func(name string, list []braid.Chunk) []braid.Chunk {
		return append([]braid.Chunk{{Kind: braid.ChunkResponse, Text: name}}, list...)
	}
	ends := func(model braid.Model, parts ...braid.Part) *event.RunEnded {
		conv := braid.NewConversation()
		if _, err := braid.New("root", model, parts...).Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		var end *event.RunEnded
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunEnded); ok {
				end = b
			}
		}
		return end
	}
	child := braid.New("child", &priced{name: "p:small", script: answers(own("small-1", says("x")))})
	root := &priced{name: "p:large", script: answers(own("large-1", asksFor("child", `{"input":"x"}`)), own("large-2", says("done")))}
	end := ends(root, braid.AsTool(child, ""))
	want := []event.ModelUsage{
		{Model: "p:large", Usage: event.Usage{Input: 30, Output: 10, Total: 40}, CostNanoUSD: new(int64(120))},
		{Model: "p:small", Usage: event.Usage{Input: 10, Output: 5, Total: 15}, CostNanoUSD: new(int64(45))},
	}
	if diff := cmp.Diff(want, end.Models); diff != "" {
		t.Errorf("by model (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(new(int64(165)), end.CostNanoUSD); diff != "" {
		t.Errorf("in all (-want +got):\n%s", diff)
	}

	silent := []braid.Chunk{{Kind: braid.ChunkText, Text: "hi"}, {Kind: braid.ChunkStop, Stop: event.StopEndTurn}}
	end = ends(&priced{name: "p:m", script: answers(silent)})
	if end.CostNanoUSD != nil || end.Models[0].CostNanoUSD != nil {
		t.Errorf("an answer without usage cost %v, %s", *end.CostNanoUSD, raw(end.Models))
	}
	if end = ends(&listed{name: "l", price: -1}); end.CostNanoUSD != nil {
		t.Errorf("a model of no known price cost %v", *end.CostNanoUSD)
	}
}
