package braid

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/drive"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
	"github.com/braidrun/braid/model"
)

// tightPlan is a run whose conversation does not fit its model.
type tightPlan struct {
	manage   int
	capacity int64 // what the model takes, in estimated tokens
	context  int
	cycles   int
	input    int
	result   int
	counts   bool
	sumFails event.ErrorKind
	cancels  bool
	asks     int // the cycle before which a hook asks a question
	child    bool
	warm     bool // the next driver goes on with the fold of the one before
}

func drawTight(t *rapid.T) *tightPlan {
	return &tightPlan{
		manage:   rapid.IntRange(0, 4).Draw(t, "manage"),
		capacity: int64(rapid.SampledFrom([]int{20, 100, 300, 100000}).Draw(t, "capacity")),
		context:  rapid.SampledFrom([]int{20, 100, 300}).Draw(t, "context"),
		cycles:   rapid.IntRange(1, 5).Draw(t, "cycles"),
		input:    rapid.SampledFrom([]int{1, 60, 300}).Draw(t, "input"),
		result:   rapid.SampledFrom([]int{1, 60, 300}).Draw(t, "result"),
		counts:   rapid.Bool().Draw(t, "counts"),
		sumFails: rapid.SampledFrom([]event.ErrorKind{"", "", "", event.ErrThrottled, event.ErrInvalid}).Draw(t, "summary"),
		cancels:  rapid.IntRange(0, 3).Draw(t, "cancels") == 0,
		asks:     rapid.IntRange(0, 4).Draw(t, "asks"),
		child:    rapid.Bool().Draw(t, "child"),
		warm:     rapid.Bool().Draw(t, "warm"),
	}
}

func (p *tightPlan) Info() model.Info {
	return model.Info{Name: "tight", Simulated: true, ContextWindow: p.context}
}

// Stream answers by the request alone, so that a driver after a crash meets the same model.
func (p *tightPlan) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		size := model.MessagesTokens(req.Messages)
		if req.Instructions == compact.Instructions {
			if p.sumFails == event.ErrInvalid || p.sumFails != "" && req.Attempt == 1 {
				yield(model.Chunk{}, &event.Error{Kind: p.sumFails, Message: "no summary"})
				return
			}
			for _, c := range []model.Chunk{{Kind: model.ChunkText, Text: "in short"}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}} {
				if !yield(c, nil) {
					return
				}
			}
			return
		}
		if size > p.capacity {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrContextOverflow, Message: "too long"})
			return
		}
		last := model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}
		chunks := []model.Chunk{{Kind: model.ChunkText, Text: "done"}}
		if tools := len(req.Tools); req.Cycle < p.cycles && tools > 0 {
			name := req.Tools[req.Cycle%tools].Name
			args := `{}`
			if name == "sub" {
				args = `{"input":"help"}`
			}
			chunks = []model.Chunk{{Kind: model.ChunkCall, ID: fmt.Sprint("c", req.Cycle), Text: name}, {Kind: model.ChunkCallInput, Text: args}}
			last.Stop = event.StopToolUse
		}
		if p.counts {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: size, Output: 1, Total: size + 1}})
		}
		for _, c := range append(chunks, last) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (p *tightPlan) agent() *Agent {
	m := []Management{
		{By: Summarize{Recent: 2}}, {By: SlidingWindow(3)}, {By: KeepAll{}}, {By: Summarize{Recent: -1}, At: 0.2}, {By: SlidingWindow(0)},
	}[p.manage]
	type none struct{}
	parts := func() []Part {
		list := []Part{
			Manage(m), Retries(Retry{Attempts: 3, Base: 1, Max: 1}), Limit(Limits{Cycles: 8}),
			Func("read", "Reads.", func(context.Context, none) (string, error) { return strings.Repeat("word ", p.result), nil }, tool.Pure()),
		}
		if p.cancels {
			list = append(list, On(func(_ context.Context, e *hook.BeforeCompaction) error { e.Cancel = true; return nil }))
		}
		if p.asks > 0 {
			list = append(list, On(func(ctx context.Context, e *hook.BeforeModel) error {
				if e.Request.Cycle != p.asks {
					return nil
				}
				_, err := Ask[bool](ctx, "go on?")
				return err
			}))
		}
		return list
	}
	a := New("root", p, parts()...)
	if p.child {
		a.Use(AsTool(New("sub", p, parts()...), "Helps."))
	}
	return a
}

// deciding gives the policy of an agent's scopes as a driver makes it.
func deciding(agentOf func(name string) *drive.Agent) decidetest.Agent {
	return func(v *fold.Conversation, s *fold.Scope) (decide.Kind, *decide.Policy) {
		a := agentOf(s.Agent)
		p := &decide.Policy{Earlier: &v.Spent}
		a.DecidePolicy(p, a.Current(), s, a.Answer)
		return decide.LLM{}, p
	}
}

// play drives a run to its end, and answers what it asks. After each drive the fold that the driver leaves behind must give the
// commands that its log gives.
func (p *tightPlan) play(conv *Conversation, run func(*Agent) (*Result, error)) (*Result, error) {
	a := p.agent()
	team, err := a.team()
	if err != nil {
		return nil, err
	}
	agentOf := func(name string) *drive.Agent {
		if name == "root" {
			return a.frozen
		}
		return team[name]
	}
	r, err := run(a)
	for range 12 {
		if r == nil {
			return nil, err
		}
		if bad := p.sameAsLog(conv, agentOf); bad != nil {
			return nil, bad
		}
		if r.Status.Ended() {
			return r, nil
		}
		for _, q := range r.Questions {
			if err := conv.Answer(deadlineless, q.Token, true); err != nil {
				return nil, err
			}
		}
		r, err = a.Resume(deadlineless, conv)
	}
	return nil, errors.New("it does not come to an end")
}

// sameAsLog compares what next says of the fold that a driver leaves behind with what it says of its log: at once, and once the
// open questions are answered.
func (p *tightPlan) sameAsLog(conv *Conversation, agentOf func(name string) *drive.Agent) error {
	log, left := conv.logged(), conv.log.Warm
	for _, answers := range []bool{false, true} {
		if answers && (p.warm || left.Run.Ended != nil) {
			return nil
		}
		if answers {
			conv.log.Warm = nil // it gets ahead of its log
			for _, q := range left.Run.Questions {
				e := &event.Event{Header: event.Header{Seq: left.Last + 1, Run: left.Run.ID}, Body: &event.Answered{Token: q.Token, Value: []byte("true")}}
				left.Add(e)
				log = append(slices.Clip(log), e)
			}
		}
		got, err := decidetest.Commands(left, deciding(agentOf), true)
		if err != nil {
			return err
		}
		want, err := decidetest.Commands(fold.New(log), deciding(agentOf), false)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the driver leaves\n%sits log gives\n%s%s", got, want, showLog(log))
		}
	}
	return nil
}

// TestOneLogOneCommandAfterACrash plays runs that are compacted and refused as too long. A new driver decides the same at
// every event, and the run comes to the same end.
func TestOneLogOneCommandAfterACrash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawTight(t)
		input := strings.Repeat("word ", p.input)
		conv := planConversation()
		want, err := p.play(conv, func(a *Agent) (*Result, error) { return a.Run(deadlineless, input, In(conv)) })
		if err != nil {
			t.Fatal(err)
		}
		log := conv.logged()
		a := p.agent()
		team, _ := a.team()
		agentOf := func(name string) *drive.Agent {
			if name == "root" {
				return a.frozen
			}
			return team[name]
		}
		if err := decidetest.OneCommand(log, deciding(agentOf), nil); err != nil {
			t.Fatalf("%v\n%s", err, showLog(log))
		}
		for n := 1; n < len(log); n++ {
			cut, err := cutLog(log[:n], []string{input})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.play(cut, func(a *Agent) (*Result, error) { return a.Resume(deadlineless, cut) })
			if err != nil {
				t.Fatalf("cut after event %d: %v\n%s", n, err, showLog(cut.logged()))
			}
			end, wanted := cut.logged()[len(cut.logged())-1], log[len(log)-1]
			if got.Stop != want.Stop || got.Why != want.Why || got.Text() != want.Text() ||
				foldtest.Deep(end.Body.(*event.RunEnded).Err) != foldtest.Deep(wanted.Body.(*event.RunEnded).Err) || compactedIn(cut.logged()) != compactedIn(log) {
				t.Fatalf("cut after event %d, it ends by %q because of %q and compacts %s, want %q, %q and %s\n%s---\n%s", n, got.Stop, got.Why,
					compactedIn(cut.logged()), want.Stop, want.Why, compactedIn(log), showLog(log), showLog(cut.logged()[n:]))
			}
		}
	})
}

// compactedIn lists the compactions of a log.
func compactedIn(log []*event.Event) string {
	var list []string
	for _, e := range log {
		if b, ok := e.Body.(*event.Compacted); ok {
			list = append(list, fmt.Sprint(e.Scope, b.Trigger, b.Cut))
		}
	}
	return strings.Join(list, " ")
}
