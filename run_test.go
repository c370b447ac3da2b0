package braid_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunAnswersWithAToolCall(t *testing.T) {
	t.Parallel()
	agent := braid.New("calc", answers(asksFor("add", `{"a":3,"b":5}`), says("8")),
		braid.Func("add", "Adds two numbers.", add))
	result, err := agent.Run(t.Context(), "3と5を足して")
	if err != nil {
		t.Fatal(err)
	}
	if result.Text() != "8" || result.Stop != event.StopEndTurn || result.Metrics.Cycles != 2 || result.Metrics.ToolCalls != 1 {
		t.Errorf("got %q, %s, %+v", result.Text(), result.Stop, result.Metrics)
	}
	if result.Usage.Total != 40 {
		t.Errorf("usage is %+v", result.Usage)
	}
}

func TestStreamYieldsTheEventsInOrder(t *testing.T) {
	t.Parallel()
	agent := braid.New("calc", answers(asksFor("add", `{"a":3,"b":5}`), says("8")),
		braid.Func("add", "Adds two numbers.", add))
	var kinds []event.Kind
	var seq int64
	for e, err := range agent.Stream(t.Context(), "3と5を足して") {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Body.Kind())
		if !e.Live() {
			seq++
			if e.Seq != seq {
				t.Errorf("event %s has seq %d, want %d", e.Body.Kind(), e.Seq, seq)
			}
		}
	}
	want := []event.Kind{
		event.KindRunStarted, event.KindUserMessage, event.KindStepBegun,
		event.KindToolInputDelta, event.KindToolInputDelta, event.KindAssistantMessage,
		event.KindStepBegun, event.KindStepEnded, event.KindStepBegun,
		event.KindTextDelta, event.KindAssistantMessage, event.KindRunEnded,
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("got  %v\nwant %v", kinds, want)
	}
}

func TestBreakingOutOfAStreamCancelsTheRun(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	stopped := make(chan struct{})
	agent := braid.New("slow", answers(asksFor("wait", `{}`), says("never")),
		braid.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
			tool.Progress(ctx, "waiting")
			<-ctx.Done()
			close(stopped)
			return "", ctx.Err()
		}))
	for e, err := range agent.Stream(t.Context(), "go", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(*event.ToolProgress); ok {
			break
		}
	}
	<-stopped
	messages, err := conv.Messages(t.Context())
	if err != nil || len(messages) != 3 {
		t.Errorf("the conversation has %d messages, want question, call and result: %v", len(messages), err)
	}
}

func TestAskParksTheRunAndTheAnswerResumesIt(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	model := answers(asksFor("refund", `{}`, "add", `{"a":1,"b":2}`), says("done"))
	runs := 0
	agent := braid.New("desk", model, braid.Func("add", "Adds.", add),
		braid.Func("refund", "Pays money back.", func(ctx context.Context, _ struct{}) (string, error) {
			runs++
			ok, err := braid.Ask[bool](ctx, "Refund?")
			if err != nil {
				return "", err
			}
			if !ok {
				return "declined", nil
			}
			return "paid " + tool.AnsweredBy(ctx, 0), nil
		}))
	result, err := agent.Run(t.Context(), "refund me", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	if result.Stop != event.StopQuestion || len(result.Questions) != 1 {
		t.Fatalf("stop is %s with %d questions", result.Stop, len(result.Questions))
	}
	if _, err := agent.Run(t.Context(), "hello?", braid.In(conv)); !errors.Is(err, event.ErrConflict) {
		t.Errorf("a second run while one waits gave %v", err)
	}
	q := result.Questions[0]
	if err := conv.Answer(t.Context(), "no such token", true); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("a wrong token gave %v", err)
	}
	result, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: q.Token, Value: true, By: "ann"}))
	if err != nil {
		t.Fatal(err)
	}
	if result.Text() != "done" || runs != 2 || model.calls.Load() != 2 {
		t.Errorf("got %q after %d runs of the tool and %d model calls", result.Text(), runs, model.calls.Load())
	}
	messages, _ := conv.Messages(t.Context())
	if got := messages[2].Content[0].(*event.ToolResult).Content[0].(*event.Text).Text; got != "paid ann" {
		t.Errorf("the result is %q", got)
	}
}

func TestAThrottledModelIsTriedSixTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(&event.Error{Kind: event.ErrThrottled, Message: "slow down"})
		}}
		agent := braid.New("a", m, braid.Retries(braid.Retry{Exact: true}))
		begun := time.Now()
		_, err := agent.Run(t.Context(), "hi")
		if !errors.Is(err, event.ErrThrottled) {
			t.Errorf("got %v", err)
		}
		if got, want := time.Since(begun), (4+8+16+32+64)*time.Second; got != want || m.calls.Load() != 6 {
			t.Errorf("%d calls in %v, want 6 in %v", m.calls.Load(), got, want)
		}
	})
}

func TestAgentsAsToolsEightLevelsDeep(t *testing.T) {
	t.Parallel()
	agent := braid.New("a9", answers(says("bottom")))
	for i := 8; i >= 1; i-- {
		name := string(rune('0' + i))
		below := agent
		agent = braid.New("a"+name, answers(asksFor(below.Name(), `{"input":"go on"}`), says("up"+name)),
			braid.AsTool(below, "next"), braid.Limit(braid.Limits{Parallel: 1}))
	}
	result, err := agent.Run(t.Context(), "dive")
	if err != nil {
		t.Fatal(err)
	}
	if result.Text() != "up1" || result.Metrics.ToolErrors != 0 {
		t.Errorf("got %q, %+v", result.Text(), result.Metrics)
	}
}

// An agent as a tool sees the one text of its call, and nothing of its caller's history or of its earlier calls.
func TestAnAgentAsAToolHasAHistoryOfItsOwn(t *testing.T) {
	t.Parallel()
	worker := &heard{says: [][]model.Chunk{says("one"), says("two")}}
	boss := answers(asksFor("worker", `{"input":"first"}`), asksFor("worker", `{"input":"second"}`), says("done"))
	agent := braid.New("boss", boss, braid.AsTool(braid.New("worker", worker), "Works."))
	if _, err := agent.Run(t.Context(), "Let it work twice."); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, asked := range worker.asked {
		seen = append(seen, brief(asked.Messages))
	}
	if !slices.Equal(seen, []string{"user:first", "user:second"}) {
		t.Errorf("the worker saw %q", seen)
	}
}

// A call in an answer counts, even if the answer says that its turn has ended.
func TestACallCountsWhateverTheStopReason(t *testing.T) {
	t.Parallel()
	ended := asksFor("add", `{"a":3,"b":5}`)
	ended[len(ended)-1] = model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}
	m := &heard{says: [][]model.Chunk{ended, says("8")}}
	result, err := braid.New("calc", m, braid.Func("add", "Adds.", add)).Run(t.Context(), "3 + 5")
	if err != nil || result.Text() != "8" || result.Metrics.ToolCalls != 1 {
		t.Fatalf("%+v: %v", result, err)
	}
	for e, err := range result.Conversation.Events(t.Context(), 0) {
		if b, ok := e.Body.(*event.AssistantMessage); err != nil || ok && e.Cycle == 1 && b.Stop != event.StopToolUse {
			t.Errorf("%+v, %v", b, err)
		}
	}
}
