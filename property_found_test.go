package braid

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// What playing generated runs, and reading the loop for them, has found. Each
// test holds one mended fault.

// callsOnce is a model that asks for the named tools in its first cycle and is
// done in the second.
func callsOnce(tools ...string) Model {
	turn := turnPlan{}
	for _, name := range tools {
		turn.calls = append(turn.calls, callPlan{tool: name, args: `{}`})
	}
	return &planModel{plan: &agentPlan{name: "root", turns: []turnPlan{turn}}}
}

// inWorld is a context for models and tools of plans.
func inWorld(ctx context.Context, conv *Conversation) context.Context {
	w := newWorld()
	w.conv = conv
	return context.WithValue(ctx, worldKey{}, w)
}

func endsOf(conv *Conversation) (ends []*event.StepEnded) {
	for _, e := range conv.logged() {
		if b, ok := e.Body.(*event.StepEnded); ok {
			ends = append(ends, b)
		}
	}
	return ends
}

// A tool that was left behind gave its place to nobody, so that those behind it
// waited for ever.
func TestAQueuedToolRunsWhenTheOneBeforeIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		conv := planConversation()
		agent := New("root", callsOnce("stuck", "good"), Limit(Limits{Parallel: 1, ToolTime: time.Minute}),
			Func("stuck", "", func(context.Context, struct{}) (string, error) { <-release; return "late", nil }),
			Func("good", "", func(context.Context, struct{}) (string, error) { return "fine", nil }))
		ctx, cancel := context.WithTimeout(inWorld(t.Context(), conv), time.Hour)
		defer cancel()
		result, err := agent.Run(ctx, "go", In(conv))
		if err != nil || result.Stop != event.StopEndTurn {
			t.Fatalf("it ended with %s, %v", result.Stop, err)
		}
		ends := endsOf(conv)
		if len(ends) != 2 || ends[0].Outcome != event.OutcomeStraggler || event.TextOf(ends[1].Result.Content) != "fine" {
			t.Errorf("the calls ended as %s", asJSON(ends))
		}
	})
}

// The time of a tool ran while it waited for its turn.
func TestAQueuedToolHasItsWholeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conv := planConversation()
		slow := func(context.Context, struct{}) (string, error) {
			<-time.After(40 * time.Second)
			return "fine", nil
		}
		agent := New("root", callsOnce("one", "two", "three"), Limit(Limits{Parallel: 1, ToolTime: time.Minute}),
			Func("one", "", slow), Func("two", "", slow), Func("three", "", slow))
		if _, err := agent.Run(inWorld(t.Context(), conv), "go", In(conv)); err != nil {
			t.Fatal(err)
		}
		for _, end := range endsOf(conv) {
			if end.Outcome != event.OutcomeDone || event.TextOf(end.Result.Content) != "fine" || end.Duration != 40*time.Second {
				t.Errorf("a call ended %s after %v: %s", end.Outcome, end.Duration, event.TextOf(end.Result.Content))
			}
		}
	})
}

// Who broke out of the stream when a tool was about to begin saw it run all the same.
func TestAStepThatIsCancelledAtItsBeginDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, kind := range []event.StepKind{event.StepModel, event.StepTool} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			conv := planConversation()
			ctx := inWorld(t.Context(), conv)
			ran := make(chan struct{}, 2)
			tool := func(context.Context, struct{}) (string, error) { ran <- struct{}{}; return "", nil }
			agent := New("root", callsOnce("one", "two"), Func("one", "", tool), Func("two", "", tool))
			for e, err := range agent.Stream(ctx, "go", In(conv)) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.StepBegun); ok && b.Step == kind {
					break
				}
			}
			if models := len(worldOf(ctx).models); len(ran) > 0 || kind == event.StepModel && models > 0 {
				t.Errorf("%d tools and %d models ran", len(ran), models)
			}
			for _, end := range endsOf(conv) {
				if end.Outcome != event.OutcomeCancelled {
					t.Errorf("a step ended %s", end.Outcome)
				}
			}
			if err := checkLog(conv.logged()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a first attempt had said stayed in the result though the second one said it all.
func TestPartialIsGoneOnceTheAnswerIsWhole(t *testing.T) {
	t.Parallel()
	conv := planConversation()
	model := &planModel{plan: &agentPlan{name: "root", turns: []turnPlan{{fails: 1, failure: 1, paused: true}}}}
	agent := New("root", model, Retries(Retry{Base: 1, Max: 1, Exact: true}))
	result, err := agent.Run(inWorld(t.Context(), conv), "go", In(conv))
	if err != nil || len(result.Partial) != 0 {
		t.Errorf("the answer is whole and %q is a part of it: %v", event.TextOf(result.Partial), err)
	}
}

// A failed attempt's tokens were known and counted nothing in the total, which
// is what a limit looks at.
func TestFailedAttemptsCountInTheTotal(t *testing.T) {
	t.Parallel()
	for _, last := range []lastKind{lastFatal, lastPanic} {
		conv := planConversation()
		model := &planModel{plan: &agentPlan{name: "root", turns: []turnPlan{{fails: 2, failure: 2, paused: true}}, last: last}}
		agent := New("root", model, Retries(Retry{Base: 1, Max: 1, Exact: true}))
		result, err := agent.Run(inWorld(t.Context(), conv), "go", In(conv))
		if err == nil {
			t.Error("the model broke and nobody says so")
		}
		if u := result.Usage; u.Total != u.Input+u.Output+u.CacheRead {
			t.Errorf("usage is %+v", u)
		}
	}
}

// A handle that was opened on a store under this id numbered its runs from 1
// again, and took another handle's for its own.
func TestTwoHandlesOnAConversationOfAnyName(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	for i := range 2 {
		conv := Open(store, "conversation")
		agent := New("root", &planModel{plan: &agentPlan{name: "root"}})
		result, err := agent.Run(inWorld(t.Context(), conv), "go", In(conv))
		if err != nil || result.Stop != event.StopEndTurn {
			t.Fatalf("handle %d: %s, %v", i, result.Stop, err)
		}
		if n := len(conv.logged()); n != 5*(i+1) {
			t.Errorf("the log has %d events, want %d", n, 5*(i+1))
		}
	}
}

// The pieces of an answer that was lost stood in front of the next attempt's.
func TestPiecesOfALostAnswerAreForgotten(t *testing.T) {
	t.Parallel()
	v := fold.New(nil)
	for i, e := range []event.Event{
		{Body: &event.RunStarted{Session: 1}},
		{Body: &event.UserMessage{Content: tool.Text("hi").Content}},
		{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 1}, Body: &event.StepBegun{Step: event.StepModel}},
		{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 1}, Body: &event.AssistantMessage{Piece: true, Content: tool.Text("lost").Content}},
		{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 1}, Body: &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeLost}},
		{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 2}, Body: &event.StepBegun{Step: event.StepModel}},
		{Header: event.Header{Cycle: 1, Step: "m1", Attempt: 2}, Body: &event.AssistantMessage{Content: tool.Text("found").Content}},
	} {
		e.Seq, e.Run = int64(i+1), "run"
		v.Add(&e)
	}
	if got := v.Run.LastMessage.Text(); got != "found" {
		t.Errorf("the answer is %q", got)
	}
}

// The calls of a history that a caller hands in counted against the run's limit.
func TestAHistoryIsNotHeldAgainstTheToolLimit(t *testing.T) {
	t.Parallel()
	conv := planConversation()
	agent := New("root", &planModel{plan: &agentPlan{name: "root"}}, Limit(Limits{ToolCalls: 1}))
	result, err := agent.Run(inWorld(t.Context(), conv), "", History([]event.Message{
		{Role: event.RoleUser, Content: tool.Text("what time is it?").Content},
		{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "a", Name: "clock", Args: drive.EmptyObject}}},
		{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: "a", Content: tool.Text("noon").Content}}},
	}...), In(conv))
	if err != nil || result.Stop != event.StopEndTurn {
		t.Errorf("it ended with %s, %v", result.Stop, err)
	}
}

// A call that was to be reconciled ran a second time, unasked, where the tool had
// lost its way of asking meanwhile.
func TestNobodyToAskIsADoubt(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string][]Part{
		"without its question": {Func("recon", "", planTool, func(tr *tool.Traits) { tr.Effect = event.EffectReconcilable })},
		"gone":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := planConversation()
			agent := New("root", callsOnce("recon"), Func("recon", "", planTool, tool.Reconcile(planReconcile)))
			if _, err := agent.Run(inWorld(t.Context(), first), "go", In(first)); err != nil {
				t.Fatal(err)
			}
			log := first.logged()
			begun := slices.IndexFunc(log, func(e *event.Event) bool { return e.Step == "t1.0" })
			conv, err := cutLog(log[:begun+1], []string{"go"})
			if err != nil {
				t.Fatal(err)
			}
			ctx := inWorld(t.Context(), conv)
			if _, err := New("root", callsOnce("recon"), tools...).Resume(ctx, conv); err != nil {
				t.Fatal(err)
			}
			if end := endsOf(conv)[0]; end.Outcome != event.OutcomeInDoubt || len(worldOf(ctx).entries) > 0 {
				t.Errorf("it ended %s, and the tool ran %d times", end.Outcome, len(worldOf(ctx).entries))
			}
		})
	}
}

// cancelling is a model that cancels the run when it is asked for its name, that
// is: while the driver is deciding.
type cancelling struct {
	planModel

	cancel context.CancelFunc
}

func (m *cancelling) Info() model.Info {
	if m.cancel != nil {
		m.cancel()
	}
	return m.planModel.Info()
}

// A scope that was asked before the cancellation went on, and its parent, asked
// after it, ended the run over its head.
func TestACancellationIsHeardByAllScopesAtOnce(t *testing.T) {
	t.Parallel()
	conv := planConversation()
	ctx, cancel := context.WithCancel(inWorld(t.Context(), conv))
	defer cancel()
	below := &cancelling{planModel: planModel{plan: &agentPlan{name: "below"}}}
	root := &agentPlan{name: "root", turns: []turnPlan{{calls: []callPlan{{tool: "below", args: `{"input":"go on"}`}}}}}
	agent := New("root", &planModel{plan: root}, AsTool(New("below", below), ""))
	below.cancel = cancel
	result, err := agent.Run(ctx, "go", In(conv))
	if result.Stop != event.StopCancelled {
		t.Errorf("it ended with %s, %v", result.Stop, err)
	}
	if err := checkLog(conv.logged()); err != nil {
		t.Errorf("%v\n%s", err, showLog(conv.logged()))
	}
}

// A tool that needed a moment to stop was left behind at once where another one
// ended in the moment of the cancellation.
func TestGraceIsGivenWhateverEndsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 30 {
			conv := planConversation()
			ctx, cancel := context.WithCancel(inWorld(t.Context(), conv))
			begun := make(chan struct{})
			agent := New("root", callsOnce("quick", "slow"),
				Func("quick", "", func(ctx context.Context, _ struct{}) (string, error) {
					<-begun
					tool.Progress(ctx, "stop")
					cancel()
					return "fine", nil
				}),
				Func("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
					close(begun)
					<-ctx.Done()
					<-time.After(time.Second)
					return "", ctx.Err()
				}))
			for e, err := range agent.Stream(ctx, "go", In(conv)) {
				if err != nil && !errors.Is(err, event.ErrCancelled) {
					t.Fatal(err)
				}
				if _, ok := e.Body.(*event.ToolProgress); ok {
					// While the driver waits for its reader, both happen.
					synctest.Wait()
				}
			}
			for _, end := range endsOf(conv) {
				if end.Result.Name == "slow" && end.Outcome != event.OutcomeCancelled {
					t.Fatalf("it stopped within a second and ended %s", end.Outcome)
				}
			}
		}
	})
}

// unreachable is a store that refuses to be acquired a number of times.
type unreachable struct {
	journal.Store

	times int
}

func (s *unreachable) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	if s.times > 0 {
		s.times--
		return journal.Opened{}, &event.Error{Kind: event.ErrUnavailable, Message: "the store cannot be reached"}
	}
	return s.Store.Acquire(ctx, run, have)
}

func (s *unreachable) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	return journal.AdmitAndAcquire(ctx, s, r, have)
}

// A run that was admitted and could not be taken stood at the head of its
// conversation's queue for ever, and every later one was refused.
func TestARunThatCouldNotBeginStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	store := &unreachable{Store: journal.NewMemory(journal.MemoryOptions{}), times: 2}
	conv := Open(store, "c")
	ctx := inWorld(t.Context(), conv)
	agent := New("root", &planModel{plan: &agentPlan{name: "root"}})
	for _, lost := range []string{"lost one", "lost two"} {
		if _, err := agent.Run(ctx, lost, In(conv)); !errors.Is(err, event.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
	}
	result, err := agent.Run(ctx, "hello", In(conv))
	if err != nil || result.Stop != event.StopEndTurn {
		t.Fatalf("it ended with %s, %v", result.Stop, err)
	}
	messages, err := conv.Messages(ctx)
	if err != nil || len(messages) != 2 || messages[0].Text() != "hello" {
		t.Errorf("the model sees\n%s%v", show(messages), err)
	}
	if err := checkHandles(conv); err != nil {
		t.Error(err)
	}
	if err := checkLog(conv.logged()); err != nil {
		t.Error(err)
	}
}
