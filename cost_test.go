package braid_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/model"

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
	nano      *int64 // what every call costs
}

// goTokens is the estimate of a prompt that is "go".
const goTokens = 5

func (p *priced) Info() model.Info {
	return model.Info{Name: p.name, Simulated: p.simulated, Cost: func(u event.Usage) (int64, bool) {
		if p.nano != nil {
			return *p.nano, true
		}
		return 3 * u.Total, !p.unknown
	}}
}

func breaks(list []model.Chunk, err error) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
		yield(model.Chunk{}, err)
	}
}

// What a run cost, by how its first model call ends; the second one uses 15 tokens.
func TestWhatARunCosts(t *testing.T) {
	t.Parallel()
	text := []model.Chunk{{Kind: model.ChunkText, Text: "half"}}
	usage := []model.Chunk{{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Total: 7}}}
	for _, c := range []struct {
		name      string
		chunks    []model.Chunk
		err       error
		unknown   bool
		simulated bool
		step, run *int64
	}{
		{"refused for its rate", nil, fault(event.ErrThrottled), false, false, new(int64(0)), new(int64(45))},
		{"refused for its key", nil, fault(event.ErrModelAuth), false, false, new(int64(0)), new(int64(45))},
		{"refused as too long", nil, fault(event.ErrContextOverflow), false, false, new(int64(0)), new(int64(45))},
		{"refused, by a model of no known price", nil, fault(event.ErrThrottled), true, false, new(int64(0)), nil},
		{"an error that nobody knows", nil, errors.New("reset"), false, false, new(int64(3 * goTokens)), new(int64(3*goTokens + 45))},
		{"not reached", nil, fault(event.ErrUnavailable), false, false, new(int64(0)), new(int64(45))},
		{"silent", nil, fault(event.ErrStreamCut), false, false, new(int64(3 * goTokens)), new(int64(3*goTokens + 45))},
		{"cut in the middle", text, fault(event.ErrStreamCut), false, false, new(int64(3 * (goTokens + 1))), new(int64(3*(goTokens+1) + 45))},
		{"overloaded in the middle", text, fault(event.ErrOverloaded), false, false, new(int64(3 * (goTokens + 1))), new(int64(3*(goTokens+1) + 45))},
		{"cut after a part of its usage", usage, fault(event.ErrOverloaded), false, false, new(int64(21)), new(int64(66))},
		{"cut, by a model of no known price", text, fault(event.ErrStreamCut), true, false, nil, nil},
		{"cut, and simulated", text, fault(event.ErrStreamCut), false, true, new(int64(0)), new(int64(45))},
		{"cut after usage, and simulated", usage, fault(event.ErrStreamCut), false, true, new(int64(21)), new(int64(66))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &priced{name: "p:m", unknown: c.unknown, simulated: c.simulated}
			m.script = &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				if req.Attempt == 1 {
					return breaks(c.chunks, c.err)
				}
				return chunks(append([]model.Chunk{{Kind: model.ChunkResponse, ID: "r", Text: "m-2026-11-20"}}, says("hi")...))
			}}
			kinds := []event.ErrorKind{
				event.ErrThrottled, event.ErrModelAuth, event.ErrContextOverflow, event.ErrUnavailable, event.ErrStreamCut, event.ErrOverloaded,
				event.ErrModel,
			}
			second := &priced{script: m.script, name: "p:n", unknown: c.unknown, simulated: c.simulated}
			conv := braid.NewConversation()
			r, err := braid.New("a", m, braid.Fallback(kinds, second)).Run(t.Context(), "go", braid.In(conv))
			if err != nil {
				t.Fatal(err)
			}
			var step *int64
			estimated := false
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *event.StepEnded:
					step = b.CostNanoUSD
					if cut := !c.simulated && (step == nil || *step > 0) && b.Usage.Total > 0; b.Estimated != cut {
						t.Errorf("the failed call is said to be an estimate: %v", b.Estimated)
					}
					estimated = b.Estimated
				case *event.AssistantMessage:
					if b.Model != "m-2026-11-20" {
						t.Errorf("the message says it is %q", b.Model)
					}
				case *event.RunEnded:
					if diff := cmp.Diff(c.run, b.CostNanoUSD); diff != "" {
						t.Errorf("the run's cost (-want +got):\n%s", diff)
					}
					if b.Estimated != estimated || r.Estimated != estimated || b.Models[0].Estimated != estimated {
						t.Errorf("the run is said to hold an estimate: %v, %v, %s", b.Estimated, r.Estimated, raw(b.Models))
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

// What a call cost that was in flight when its driver died: an estimate of its prompt, but
// for a model that follows a script.
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
		want := int64(45)
		if !simulated {
			want += 3 * goTokens
		}
		if err != nil || r.CostNanoUSD == nil || *r.CostNanoUSD != want || r.Estimated == simulated {
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
		want := int64(0)
		if !simulated {
			want = 3 * goTokens
		}
		if r.Status != event.RunCancelled || r.CostNanoUSD == nil || *r.CostNanoUSD != want || r.Estimated == simulated {
			t.Errorf("simulated %v: it is %s and cost %v", simulated, r.Status, r.CostNanoUSD)
		}
	}
}

// A model that is stopped in the middle, and one that ignores that, costs what the provider had
// reported by then.
func TestACutCallCostsItsKnownInput(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			m := &priced{name: "p:m", script: &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
				return func(yield func(model.Chunk, error) bool) {
					if !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 900_000, Output: 1}}, nil) ||
						!yield(model.Chunk{Kind: model.ChunkText, Text: "half of an answer"}, nil) {
						return
					}
					if deaf {
						<-release
						return
					}
					<-ctx.Done()
					yield(model.Chunk{}, ctx.Err())
				}
			}}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			conv := braid.NewConversation()
			r, _ := braid.New("a", m).Run(ctx, "go", braid.In(conv))
			if r.Usage.Input != 900_000 || r.CostNanoUSD == nil || *r.CostNanoUSD < 3*900_000 || *r.CostNanoUSD > 3*900_010 || !r.Estimated {
				t.Errorf("deaf %v: it used %+v and cost %v", deaf, r.Usage, r.CostNanoUSD)
			}
			close(release)
		})
	}
}

// What no model can have used is clipped where it enters, and the operator is told.
func TestImpossibleUsage(t *testing.T) {
	t.Parallel()
	const huge = math.MaxInt64 - 3
	for _, c := range []struct {
		name  string
		usage event.Usage
		want  event.Usage
		says  string
	}{
		{"negative", event.Usage{Input: 10, Output: -3, CacheRead: -7, Total: -1}, event.Usage{Input: 10, Total: 10}, "fewer than no output tokens"},
		{
			"huge",
			event.Usage{Input: huge, Output: huge, Total: huge},
			event.Usage{Input: event.MostTokens, Output: event.MostTokens, Total: 2 * event.MostTokens},
			"too many input tokens",
		},
		{
			"cached above the prompt",
			event.Usage{Input: -90, CacheRead: 100, Output: 1, Total: 11},
			event.Usage{CacheRead: 10, Output: 1, Total: 11},
			"more tokens in a cache than in the prompt",
		},
		{
			"more for an hour than written",
			event.Usage{Input: 1, CacheWrite: 5, CacheWriteHour: 9, Total: 6},
			event.Usage{Input: 1, CacheWrite: 5, CacheWriteHour: 5, Total: 6},
			"more tokens cached for an hour",
		},
		{"all that can be", event.Usage{Input: math.MinInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MinInt64}, event.Usage{}, "impossible"},
		{"possible", event.Usage{Input: 5, Output: 5, CacheRead: 100, Total: 110}, event.Usage{Input: 5, Output: 5, CacheRead: 100, Total: 110}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list := says("hi")
			list[1].Usage = &c.usage
			conv := braid.NewConversation()
			r, err := braid.New("a", &priced{name: "p:m", script: answers(list)}).Run(t.Context(), "go", braid.In(conv))
			if err != nil || r.Usage != c.want || r.CostNanoUSD == nil || *r.CostNanoUSD != 3*c.want.Total {
				t.Errorf("it used %+v and cost %v, %v", r.Usage, r.CostNanoUSD, err)
			}
			says := ""
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.Notice); ok && b.Code == event.NoticeUsage && e.Audience == event.Operator {
					says = b.Text
				}
			}
			if (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
				t.Errorf("the operator is told %q", says)
			}
		})
	}
}

// A price function of a program may give what is no price.
func TestImpossibleCosts(t *testing.T) {
	t.Parallel()
	for name, nano := range map[string]int64{"negative": -1, "the smallest": math.MinInt64, "the largest": math.MaxInt64} {
		agent := braid.New("a", &priced{name: "p:m", script: answers(says("hi")), nano: &nano})
		conv := braid.NewConversation()
		for range 2 {
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil || r.CostNanoUSD != nil {
				t.Errorf("%s: it cost %v, %v", name, r.CostNanoUSD, err)
			}
		}
		told := 0
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.Notice); ok && b.Code == event.NoticeUsage {
				told++
			}
		}
		if told != 2 {
			t.Errorf("%s: the operator is told %d times", name, told)
		}
	}
}

// An answer without usage has no price, and one row stands for each model, by the name
// that users write, whatever the provider calls it.
func TestCostByModel(t *testing.T) {
	t.Parallel()
	own := func(name string, list []model.Chunk) []model.Chunk {
		return append([]model.Chunk{{Kind: model.ChunkResponse, Text: name}}, list...)
	}
	ends := func(m braid.Model, parts ...braid.Part) *event.RunEnded {
		conv := braid.NewConversation()
		if _, err := braid.New("root", m, parts...).Run(t.Context(), "go", braid.In(conv)); err != nil {
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

	silent := []model.Chunk{{Kind: model.ChunkText, Text: "hi"}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}}
	end = ends(&priced{name: "p:m", script: answers(silent)})
	if end.CostNanoUSD != nil || end.Models[0].CostNanoUSD != nil {
		t.Errorf("an answer without usage cost %v, %s", *end.CostNanoUSD, raw(end.Models))
	}
	if end = ends(&listed{name: "l", price: -1}); end.CostNanoUSD != nil {
		t.Errorf("a model of no known price cost %v", *end.CostNanoUSD)
	}
}
