package braid

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// noon is the clock of the tables; later is a minute after it.
var (
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Minute)
)

// history is a run's log written in short words, for the tables of Next. Times
// and numbers are as the driver would write them.
type history struct{ log []*event.Event }

func (h *history) add(cycle int, step string, attempt int, body event.Body) *history {
	e := &event.Event{Body: body}
	e.Seq, e.Run, e.Cycle, e.Step, e.Attempt, e.Time = int64(len(h.log)+1), "run", cycle, step, attempt, noon
	h.log = append(h.log, e)
	return h
}

// asked is a run that has its input.
func asked() *history {
	h := &history{}
	return h.add(0, "", 0, &event.RunStarted{Agent: "root", Turn: 1, Session: 1}).
		add(0, "", 0, &event.UserMessage{Content: TextOutput("go").Content})
}

// refuses is a model that refuses the conversation as too long, sums and summed begin and end
// a compaction's own model call, and compacts is what comes of it.
func (h *history) refuses(cycle, attempt int) *history {
	return h.model(cycle, attempt).add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, Err: &event.Error{Kind: event.ErrContextOverflow, Message: "too long"},
	})
}

func (h *history) sums(cycle, attempt int, why event.Why) *history {
	return h.add(cycle, fold.StepName("", 'c', cycle, 0), attempt, &event.StepBegun{Step: event.StepCompaction, Why: why})
}

func (h *history) summed(cycle, attempt int, o event.Outcome, retryAt time.Time) *history {
	return h.add(cycle, fold.StepName("", 'c', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepCompaction, Outcome: o, RetryAt: retryAt, Err: &event.Error{Kind: event.ErrThrottled, Message: "busy"},
	})
}

func (h *history) compacts(cycle int) *history {
	return h.add(cycle, "", 0, &event.Compacted{From: 2, To: 2})
}

// model begins a model call.
func (h *history) model(cycle, attempt int) *history {
	return h.add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepBegun{Step: event.StepModel})
}

// says ends it with text, calls with calls.
func (h *history) says(cycle int, stop event.StopReason) *history {
	return h.add(cycle, fold.StepName("", 'm', cycle, 0), 1, &event.AssistantMessage{
		Content: TextOutput("so").Content, Stop: stop, Usage: event.Usage{Total: 10},
	})
}

func (h *history) calls(cycle int, tools ...string) *history {
	m := &event.AssistantMessage{Stop: event.StopToolUse, Usage: event.Usage{Total: 10}}
	for i, name := range tools {
		m.Content = append(m.Content, &event.ToolCall{ID: "c" + strconv.Itoa(i), Name: name, Args: emptyObject})
	}
	return h.model(cycle, 1).add(cycle, fold.StepName("", 'm', cycle, 0), 1, m)
}

// falls ends a model call that another model is to be asked for.
func (h *history) falls(cycle, attempt int, model string) *history {
	return h.add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: noon, Fallback: model, Err: &event.Error{Kind: event.ErrModelAuth},
	})
}

// fails ends a model call without an answer.
func (h *history) fails(cycle, attempt int, outcome event.Outcome, retryAt time.Time) *history {
	return h.add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: outcome, RetryAt: retryAt, Err: &event.Error{Kind: event.ErrThrottled},
	})
}

func (h *history) begins(cycle, i, attempt int) *history {
	return h.add(cycle, fold.StepName("", 't', cycle, i), attempt, &event.StepBegun{
		Step: event.StepTool, Call: "c" + strconv.Itoa(i), Effect: event.EffectPure,
	})
}

func (h *history) opens(cycle, i int) *history {
	return h.begins(cycle, i, 1).add(cycle, fold.StepName("", 't', cycle, i), 1, &event.ScopeOpened{
		ID: fold.StepName("", 't', cycle, i), Call: "c" + strconv.Itoa(i), Agent: "sub", Depth: 1, Input: TextOutput("do").Content,
	})
}

func (h *history) ends(cycle, i int, endTurn bool) *history {
	return h.begins(cycle, i, 1).add(cycle, fold.StepName("", 't', cycle, i), 1, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, EndTurn: endTurn,
		Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: TextOutput("ok").Content},
	})
}

// returns ends a call with a result that is to be the answer.
func (h *history) returns(cycle, i int, isError bool) *history {
	return h.begins(cycle, i, 1).add(cycle, fold.StepName("", 't', cycle, i), 1, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, ReturnDirect: true,
		Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: TextOutput("ok").Content, IsError: isError},
	})
}

// called is a run whose program asks for tools itself.
func called(tools ...string) *history {
	m := &event.AssistantMessage{Stop: event.StopToolUse}
	for i, name := range tools {
		m.Content = append(m.Content, &event.ToolCall{ID: "c" + strconv.Itoa(i), Name: name, Args: emptyObject})
	}
	return asked().add(0, "", 0, m)
}

func (h *history) asks(cycle, i int, token string) *history {
	return h.begins(cycle, i, 1).add(cycle, fold.StepName("", 't', cycle, i), 1, &event.Asked{Token: token, Call: "c" + strconv.Itoa(i)})
}

func (h *history) answers(token string) *history {
	return h.add(0, "", 0, &event.Answered{Token: token, Value: []byte("true")})
}

// wants is what the loop says where an answer has not its form, gives the end of a call of the
// tool that takes it, and again a whole cycle that was asked for once more and in which it was not taken.
func (h *history) wants() *history {
	return h.add(0, "", 0, &event.UserMessage{Content: TextOutput("in its form").Content, Why: event.WhyAnswer})
}

// stuck is so many cycles of one call that brings the same, and told what the loop says then.
func (h *history) stuck(cycles int) *history {
	for cycle := 1; cycle <= cycles; cycle++ {
		h.calls(cycle, "a").ends(cycle, 0, false)
	}
	return h
}

func (h *history) told() *history {
	return h.add(0, "", 0, &event.UserMessage{Content: TextOutput("again?").Content, Why: event.WhyRepeats})
}

func (h *history) gives(cycle int, answer string, refused bool) *history {
	end := &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, EndTurn: !refused,
		Result: &event.ToolResult{Call: "c0", Name: AnswerTool, IsError: refused, Content: TextOutput("so").Content},
	}
	if !refused {
		end.Result.Structured = []byte(answer)
	}
	return h.begins(cycle, 0, 1).add(cycle, fold.StepName("", 't', cycle, 0), 1, end)
}

func (h *history) again(cycle int) *history {
	h.calls(cycle, AnswerTool)
	if b, ok := h.log[len(h.log)-2].Body.(*event.StepBegun); ok && cycle > 1 {
		b.Why = event.WhyAnswer
	}
	return h.gives(cycle, "", true)
}

// nextCase is one row: what is in the log, what is outside it, and what is to be done.
type nextCase struct {
	name string
	log  *history
	// limits and sequential are the agent's; here names the steps that this
	// driver runs.
	limits     Limits
	sequential bool
	// schema is what the agent's answers are held to; empty for nothing.
	schema    string
	here      []string
	now       time.Time
	cancelled bool
	expired   bool

	do    do
	why   event.Why
	stop  event.StopReason
	kind  event.ErrorKind
	calls string
	until time.Time
}

// nextCases are in the order of the design (DESIGN section 4): in each group the
// rows show that a rule comes before those that follow it.
var nextCases = []nextCase{
	// 1. Cancelled, or past the deadline, comes before everything.
	{name: "cancelled before anything", log: asked(), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled and past the deadline", log: asked(), cancelled: true, expired: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled with calls that can run", log: asked().calls(1, "a", "b"), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled while tools run", log: asked().calls(1, "a").begins(1, 0, 1), here: []string{"t1.0"}, cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled while a question is open", log: asked().calls(1, "a").asks(1, 0, "q"), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled at the end of the turn", log: asked().model(1, 1).says(1, event.StopEndTurn), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "cancelled between attempts", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, later), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "past the deadline with calls that can run", log: asked().calls(1, "a"), expired: true, do: doFinish, why: event.WhyDeadline, stop: event.StopTimeout, kind: event.ErrTimeout},
	{name: "past the deadline while a question is open", log: asked().calls(1, "a").asks(1, 0, "q"), expired: true, do: doFinish, why: event.WhyDeadline, stop: event.StopTimeout, kind: event.ErrTimeout},

	// 2. Calls that can run come before waiting.
	{name: "new calls", log: asked().calls(1, "a", "b", "c"), do: doTools, calls: "t1.0 t1.1 t1.2"},
	{name: "an open question holds up nobody else", log: asked().calls(1, "a", "b").asks(1, 0, "q"), do: doTools, calls: "t1.1"},
	{name: "what runs here holds up nobody else", log: asked().calls(1, "a", "b").begins(1, 0, 1), here: []string{"t1.0"}, do: doTools, calls: "t1.1"},
	{name: "an answered call", log: asked().calls(1, "a").asks(1, 0, "q").answers("q"), do: doTools, calls: "t1.0"},
	{name: "one of two questions answered", log: asked().calls(1, "a").asks(1, 0, "q").add(1, "t1.0", 1, &event.Asked{Token: "r", Index: 1}).answers("q"), do: doWait, why: event.WhyWaiting},
	{name: "in flight when another driver died", log: asked().calls(1, "a", "b").begins(1, 0, 1).ends(1, 1, false), do: doTools, calls: "t1.0"},
	{name: "answered, and in flight when another driver died", log: asked().calls(1, "a").asks(1, 0, "q").answers("q").begins(1, 0, 2), do: doTools, calls: "t1.0"},
	{name: "calls of agents come first, together", log: asked().calls(1, "a", "sub", "sub"), do: doScopes, calls: "t1.1 t1.2"},
	{name: "then the tools beside them", log: asked().calls(1, "a", "sub").opens(1, 1), do: doTools, calls: "t1.0"},
	{name: "an agent's call that began without its scope", log: asked().calls(1, "sub").begins(1, 0, 1), do: doScopes, calls: "t1.0"},
	{name: "an unknown tool is a call as any other", log: asked().calls(1, "nobody"), do: doTools, calls: "t1.0"},
	{name: "sequential: the first", log: asked().calls(1, "a", "b"), sequential: true, do: doTools, calls: "t1.0"},
	{name: "sequential: nothing behind one that runs", log: asked().calls(1, "a", "b").begins(1, 0, 1), here: []string{"t1.0"}, sequential: true, do: doWait, why: event.WhyWaiting},
	{name: "sequential: nothing behind one that asks", log: asked().calls(1, "a", "b").asks(1, 0, "q"), sequential: true, do: doWait, why: event.WhyWaiting},
	{name: "sequential: the second after the first", log: asked().calls(1, "a", "b").ends(1, 0, false), sequential: true, do: doTools, calls: "t1.1"},
	{name: "calls that can run, though a limit is reached", log: asked().calls(1, "a", "b"), limits: Limits{Cycles: 1, ToolCalls: 1, TotalTokens: 1}, do: doTools, calls: "t1.0 t1.1"},
	{name: "calls that can run, though another stops", log: asked().calls(1, "a", "b").ends(1, 0, true), do: doTools, calls: "t1.1"},

	// 3. Waiting comes before stopping.
	{name: "waits for what runs here", log: asked().calls(1, "a").begins(1, 0, 1), here: []string{"t1.0"}, do: doWait, why: event.WhyWaiting},
	{name: "waits for an answer", log: asked().calls(1, "a").asks(1, 0, "q"), do: doWait, why: event.WhyWaiting},
	{name: "waits for an agent", log: asked().calls(1, "sub").opens(1, 0), do: doWait, why: event.WhyWaiting},
	{name: "waits, though a tool wants to stop", log: asked().calls(1, "a", "b").ends(1, 0, true).asks(1, 1, "q"), do: doWait, why: event.WhyWaiting},
	{name: "waits, though a limit is reached", log: asked().calls(1, "a").asks(1, 0, "q"), limits: Limits{ToolCalls: 1}, do: doWait, why: event.WhyWaiting},

	// 4. A tool's stop comes before limits and the model.
	{name: "a tool stops", log: asked().calls(1, "a", "b").ends(1, 1, true).ends(1, 0, false), do: doFinish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "a tool stops where a limit is reached", log: asked().calls(1, "a").ends(1, 0, true), limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "the stop of an earlier batch is past", log: asked().calls(1, "a").ends(1, 0, true).calls(2, "a").ends(2, 0, false), do: doModel, why: event.WhyToolResults},

	{name: "a tool answers", log: asked().calls(1, "a", "b").returns(1, 1, false).ends(1, 0, false), do: doFinish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "a tool answers where another stops", log: asked().calls(1, "a", "b").ends(1, 0, true).returns(1, 1, false), limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "a tool answers when the others are done", log: asked().calls(1, "a", "b").returns(1, 0, false), do: doTools, calls: "t1.1"},
	{name: "an error is no answer", log: asked().calls(1, "a").returns(1, 0, true), do: doModel, why: event.WhyToolResults},
	{name: "the answer of an earlier batch is past", log: asked().calls(1, "a").returns(1, 0, false).calls(2, "a").ends(2, 0, false), do: doModel, why: event.WhyToolResults},
	{name: "the program calls tools", log: called("a", "b"), do: doTools, calls: "t0.0 t0.1"},
	{name: "the program's tools are done", log: called("a").ends(0, 0, false), limits: Limits{Cycles: 1, ToolCalls: 1}, do: doFinish, why: event.WhyDirectCall, stop: event.StopEndTurn},
	{name: "the program's tool answers", log: called("a").returns(0, 0, false), do: doFinish, why: event.WhyReturned, stop: event.StopEndTurn},
	{name: "somebody speaks after the program's tools", log: called("a").ends(0, 0, false).add(0, "", 0, &event.UserMessage{Content: TextOutput("and?").Content}), do: doModel, why: event.WhyInput},

	// 5. The end of the turn, or of the model, comes before limits.
	{name: "the model ended its turn", log: asked().model(1, 1).says(1, event.StopEndTurn), do: doFinish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "it did at a stop word", log: asked().model(1, 1).says(1, event.StopSequence), do: doFinish, why: event.WhyEndTurn, stop: event.StopSequence},
	{name: "it did where a limit is reached", log: asked().model(1, 1).says(1, event.StopEndTurn), limits: Limits{Cycles: 1, TotalTokens: 1}, do: doFinish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "cut at the token limit", log: asked().model(1, 1).says(1, event.StopMaxTokens), do: doFinish, why: event.WhyMaxTokens, stop: event.StopMaxTokens, kind: event.ErrMaxTokens},
	{name: "refused", log: asked().model(1, 1).says(1, event.StopRefusal), do: doFinish, why: event.WhyModelStop, stop: event.StopRefusal},
	{name: "stopped by a word of the provider's own", log: asked().model(1, 1).says(1, "moon_phase"), do: doFinish, why: event.WhyModelStop, stop: "moon_phase"},
	{name: "failed for good", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, time.Time{}), do: doFinish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrThrottled},
	{name: "failed for good where a limit is reached", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, time.Time{}), limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrThrottled},
	{name: "nothing was asked", log: (&history{}).add(0, "", 0, &event.RunStarted{Agent: "root"}), do: doFinish, why: event.WhyNothing, stop: event.StopEndTurn},

	// Where the answer has a form, an end without it is none.
	{name: "the same call thrice", log: asked().stuck(3), do: doSay, why: event.WhyRepeats},
	{name: "the same call thrice, and the model was told", log: asked().stuck(3).told(), do: doModel, why: event.WhyRepeats},
	{name: "the same call five times", log: asked().stuck(3).told().calls(4, "a").ends(4, 0, false).calls(5, "a").ends(5, 0, false), do: doFinish, why: event.WhyLimit, stop: event.StopLimitRepeats, kind: event.ErrLimit},
	{name: "words instead of an answer in its form", log: asked().model(1, 1).says(1, event.StopEndTurn), schema: `{"type":"object"}`, do: doSay, why: event.WhyAnswer},
	{name: "words, where a limit is reached", log: asked().model(1, 1).says(1, event.StopEndTurn), schema: `{"type":"object"}`, limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},
	{name: "words, and the loop has asked", log: asked().model(1, 1).says(1, event.StopEndTurn).wants(), schema: `{"type":"object"}`, do: doModel, why: event.WhyAnswer},
	{name: "a refusal has no form", log: asked().model(1, 1).says(1, event.StopRefusal), schema: `{"type":"object"}`, do: doFinish, why: event.WhyModelStop, stop: event.StopRefusal},
	{name: "nor have the words of a hook", log: asked().model(1, 1).add(1, "m1", 1, &event.AssistantMessage{Content: TextOutput("no").Content, Stop: event.StopEndTurn, Hook: true}), schema: `{"type":"object"}`, do: doFinish, why: event.WhyEndTurn, stop: event.StopEndTurn},
	{name: "an answer that the tool took", log: asked().calls(1, AnswerTool).gives(1, `{"n":1}`, false), schema: `{"type":"object"}`, do: doFinish, why: event.WhyToolStop, stop: event.StopToolUse},
	{name: "one that it did not take", log: asked().calls(1, AnswerTool).gives(1, "", true), schema: `{"type":"object"}`, do: doModel, why: event.WhyAnswer},
	{name: "one of a tool that only has its name", log: asked().calls(1, AnswerTool).gives(1, "", true), do: doModel, why: event.WhyToolResults},
	{name: "asked often enough", log: asked().again(1).again(2).again(3), limits: Limits{Answers: 2}, schema: `{"type":"object"}`, do: doFinish, why: event.WhyLimit, stop: event.StopLimitAnswers, kind: event.ErrInvalid},
	{name: "once more", log: asked().again(1).again(2).again(3), limits: Limits{Answers: 3}, schema: `{"type":"object"}`, do: doModel, why: event.WhyAnswer},

	// 6. Limits come before the model, once the tools are done.
	{name: "the cycles are used up", log: asked().calls(1, "a").ends(1, 0, false), limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},
	{name: "the tool calls are", log: asked().calls(1, "a", "b").ends(1, 0, false).ends(1, 1, false), limits: Limits{ToolCalls: 2}, do: doFinish, why: event.WhyLimit, stop: event.StopLimitToolCalls, kind: event.ErrLimit},
	{name: "the tokens are", log: asked().calls(1, "a").ends(1, 0, false), limits: Limits{TotalTokens: 10}, do: doFinish, why: event.WhyLimit, stop: event.StopLimitTotalTokens, kind: event.ErrLimit},
	{name: "one short of each", log: asked().calls(1, "a").ends(1, 0, false), limits: Limits{Cycles: 2, ToolCalls: 2, TotalTokens: 11}, do: doModel, why: event.WhyToolResults},
	{name: "a limit that is none", log: asked().calls(1, "a").ends(1, 0, false), limits: Limits{Cycles: -1, ToolCalls: -1, TotalTokens: -1}, do: doModel, why: event.WhyToolResults},
	{name: "an attempt more is no cycle more", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, noon), limits: Limits{Cycles: 1}, do: doModel, why: event.WhyRetry},
	{name: "nor is one on another model", log: asked().model(1, 1).falls(1, 1, "other"), limits: Limits{Cycles: 1}, do: doModel, why: event.WhyFallback},
	{name: "nor is one that another driver lost", log: asked().model(1, 1).fails(1, 1, event.OutcomeLost, time.Time{}), limits: Limits{Cycles: 1}, do: doModel, why: event.WhyTakenOver},
	{name: "a paused turn is", log: asked().model(1, 1).says(1, event.StopPause), limits: Limits{Cycles: 1}, do: doFinish, why: event.WhyLimit, stop: event.StopLimitCycles, kind: event.ErrLimit},

	// 7. Otherwise the model.
	{name: "new input", log: asked(), do: doModel, why: event.WhyInput},
	{name: "finished tools", log: asked().calls(1, "a").ends(1, 0, false), do: doModel, why: event.WhyToolResults},
	{name: "a finished tool that says so twice", log: asked().calls(1, "a", "b").ends(1, 0, false).ends(1, 0, false).begins(1, 1, 1), here: []string{"t1.1"}, do: doWait, why: event.WhyWaiting},
	{name: "the model runs here", log: asked().model(1, 1), here: []string{"m1"}, do: doWait, why: event.WhyWaiting},
	{name: "it ran where a driver died", log: asked().model(1, 1), do: doModel, why: event.WhyTakenOver},
	{name: "it was stopped with its driver", log: asked().model(1, 1).fails(1, 1, event.OutcomeCancelled, time.Time{}), do: doModel, why: event.WhyTakenOver},
	{name: "not yet", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, later), now: later.Add(-1), do: doWait, why: event.WhyRetry, until: later},
	{name: "now", log: asked().model(1, 1).fails(1, 1, event.OutcomeFailed, later), now: later, do: doModel, why: event.WhyRetry},
	{name: "on another model at once", log: asked().model(1, 1).falls(1, 1, "other"), now: noon.Add(-time.Hour), do: doModel, why: event.WhyFallback},
	{name: "not at all, where the run is cancelled", log: asked().model(1, 1).falls(1, 1, "other"), cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "the provider paused", log: asked().model(1, 1).says(1, event.StopPause), do: doModel, why: event.WhyPaused},
	{
		name: "a message came during the run", log: asked().model(1, 1).says(1, event.StopEndTurn).add(0, "", 0,
			&event.UserMessage{Content: TextOutput("and this").Content, Mail: "message-1"}),
		do: doModel, why: event.WhyMessage,
	},
	{name: "an answer that asked for nothing", log: asked().model(1, 1).says(1, event.StopToolUse), do: doFinish, why: event.WhyEndTurn, stop: event.StopToolUse},
	// The conversation is too long.
	{name: "refused as too long", log: asked().refuses(1, 1), do: doCompact, why: event.WhyOverflow},
	{name: "and shown less", log: asked().refuses(1, 1).compacts(1), do: doModel, why: event.WhyCompacted},
	{name: "which is no cycle more", log: asked().refuses(1, 1).compacts(1), limits: Limits{Cycles: 1}, do: doModel, why: event.WhyCompacted},
	{name: "refused again", log: asked().refuses(1, 1).compacts(1).refuses(1, 2), do: doCompact, why: event.WhyOverflow},
	{
		name: "refused too often", log: asked().refuses(1, 1).compacts(1).refuses(1, 2).compacts(1).refuses(1, 3).compacts(1).refuses(1, 4),
		do: doFinish, why: event.WhyFailed, stop: event.StopContextOverflow, kind: event.ErrContextOverflow,
	},
	{
		name: "which is counted for each call", log: asked().refuses(1, 1).compacts(1).refuses(1, 2).compacts(1).refuses(1, 3).compacts(1).calls(1, "a").
			ends(1, 0, false).refuses(2, 1), do: doCompact, why: event.WhyOverflow,
	},
	{name: "a summary is asked for here", log: asked().sums(1, 1, event.WhyLimit), here: []string{"c1"}, do: doWait, why: event.WhyWaiting},
	{name: "it was, where a driver died", log: asked().sums(1, 1, event.WhyLimit), do: doCompact, why: event.WhyLimit},
	{name: "and the same after a refusal", log: asked().refuses(1, 1).sums(1, 1, event.WhyOverflow), do: doCompact, why: event.WhyOverflow},
	{name: "lost", log: asked().sums(1, 1, event.WhyLimit).summed(1, 1, event.OutcomeLost, time.Time{}), do: doCompact, why: event.WhyLimit},
	{name: "to be asked for again, not yet", log: asked().sums(1, 1, event.WhyLimit).summed(1, 1, event.OutcomeFailed, later), do: doWait, why: event.WhyRetry, until: later},
	{name: "to be asked for again", log: asked().sums(1, 1, event.WhyLimit).summed(1, 1, event.OutcomeFailed, noon), do: doCompact, why: event.WhyLimit},
	{name: "not to be had, and not needed", log: asked().sums(1, 1, event.WhyLimit).summed(1, 1, event.OutcomeFailed, time.Time{}), do: doModel, why: event.WhyInput},
	{
		name: "not to be had, though it is needed", log: asked().refuses(1, 1).sums(1, 1, event.WhyOverflow).summed(1, 1, event.OutcomeFailed, time.Time{}),
		do: doFinish, why: event.WhyFailed, stop: event.StopContextOverflow, kind: event.ErrContextOverflow,
	},
	{
		name: "not to be had before, and needed now",
		log:  asked().sums(1, 1, event.WhyLimit).summed(1, 1, event.OutcomeFailed, time.Time{}).refuses(1, 1), do: doCompact, why: event.WhyOverflow,
	},
	{name: "cancelled while it is asked for", log: asked().sums(1, 1, event.WhyLimit), here: []string{"c1"}, cancelled: true, do: doFinish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "new input during the turn", log: asked().model(1, 1).says(1, event.StopEndTurn).add(0, "", 0, &event.UserMessage{Content: TextOutput("and?").Content}), do: doModel, why: event.WhyInput},
}

// ask folds the row's log and asks Next of its root scope.
func (c *nextCase) ask() (*fold.Conversation, inputs) {
	v := fold.New(c.log.log)
	agent := New("root", &planModel{plan: &agentPlan{name: "root"}}, Limit(c.limits), AsTool(New("sub", &planModel{}), ""))
	if c.sequential {
		agent.Use(Sequential())
	}
	if c.schema != "" {
		agent.Use(AnswerSchema([]byte(c.schema)))
	}
	in := inputs{
		Agent: agent, answer: agent.answer, Now: c.now, Cancelled: c.cancelled, Expired: c.expired,
		running: c.here,
	}
	if in.Now.IsZero() {
		in.Now = noon
	}
	return v, in
}

func TestNextDecidesInTheOrderOfTheDesign(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, in := c.ask()
			got := next(v.Run.Scopes[0], in)
			var calls []string
			for _, call := range got.calls {
				calls = append(calls, call.Step)
			}
			kind := event.ErrorKind("")
			if got.Err != nil {
				kind = got.Err.Kind
			}
			if got.Do != c.do || got.Why != c.why || got.Stop != c.stop || kind != c.kind ||
				strings.Join(calls, " ") != c.calls || !got.Until.Equal(c.until) {
				t.Errorf("got  do %d why %q stop %q kind %q calls %v until %v\nwant do %d why %q stop %q kind %q calls [%s] until %v",
					got.Do, got.Why, got.Stop, kind, calls, got.Until, c.do, c.why, c.stop, c.kind, c.calls, c.until)
			}
		})
	}
}

// Next is pure: it says the same however often it is asked, and changes nothing
// that another question could notice.
func TestNextIsPure(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		v, in := c.ask()
		before, inputs := dump(v), fmt.Sprintf("%+v", in)
		root := v.Run.Scopes[0]
		first := fmt.Sprintf("%+v", next(root, in))
		for range 3 {
			if again := fmt.Sprintf("%+v", next(root, in)); again != first {
				t.Errorf("%s: it says %s and then %s", c.name, first, again)
			}
		}
		if after := dump(v); after != before || fmt.Sprintf("%+v", in) != inputs {
			t.Errorf("%s: asking changed\n%sto\n%s", c.name, before, after)
		}
		// Whoever else folds the log decides the same.
		other, theirs := c.ask()
		if mine, own := next(root, in), next(other.Run.Scopes[0], theirs); mine.Do != own.Do || mine.Why != own.Why {
			t.Errorf("%s: another driver does %d because of %q", c.name, own.Do, own.Why)
		}
	}
}

// An agent that the scope is handed to begins with its own first model.
func TestATransferForgetsTheModel(t *testing.T) {
	t.Parallel()
	h := asked().add(1, "m1", 1, &event.StepBegun{Step: event.StepModel, Model: "other"})
	v := fold.New(h.log)
	if s := v.Run.Scopes[0]; s.LastModel != "other" {
		t.Errorf("it stays with %q", s.LastModel)
	}
	v = fold.New(h.add(1, "", 0, &event.Transferred{To: "sub"}).log)
	if s := v.Run.Scopes[0]; s.LastModel != "" || s.Agent != "sub" {
		t.Errorf("%s stays with %q", s.Agent, s.LastModel)
	}
}

// A driver replaces the newest message where it stands, and nothing else: for the rest the
// log is folded anew.
func TestWhatIsRedactedInPlace(t *testing.T) {
	t.Parallel()
	more := func() *history {
		return asked().add(0, "", 0, &event.UserMessage{Content: TextOutput("and this").Content, Mail: "m"})
	}
	for _, c := range []struct {
		name   string
		log    *history
		target int64
		stale  bool
		shown  string
	}{
		{"the newest", more(), 3, false, "go[redacted]"},
		{"the one before", more(), 2, true, "goand this"},
		{"nothing", more(), 0, true, "goand this"},
		{"one that brought results", asked().calls(1, "a").add(0, "", 0, &event.UserMessage{Content: []event.Block{
			&event.ToolResult{Call: "c0", Content: TextOutput("r").Content}, &event.Text{Text: "so"},
		}}), 5, true, "so"},
	} {
		v := fold.New(nil)
		for _, e := range c.log.log {
			v.Add(e)
		}
		before := v.Run.Scopes[0].Transcript.Shared()
		prints := fingerprint(before)
		c.log.add(0, "", 0, &event.Redacted{Target: c.target})
		v.Add(c.log.log[len(c.log.log)-1])
		msgs := v.Run.Scopes[0].Transcript.Messages
		if got := msgs[len(msgs)-1].Text(); v.Stale != c.stale || got != c.shown || fingerprint(before) != prints {
			t.Errorf("%s: stale %v, the model is shown %q", c.name, v.Stale, got)
		}
	}
}

// What a note tells of tool calls stands in the order in which they were asked for.
func TestNotesTellOfCallsAsTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	notes := map[string]bool{}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		h := asked().calls(1, "a", "b", "c")
		for _, i := range order {
			h.add(1, fold.StepName("", 't', 1, i), 1, &event.StepBegun{Step: event.StepTool})
		}
		for _, i := range order {
			h.add(1, fold.StepName("", 't', 1, i), 1, &event.StepEnded{
				Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: TextOutput("ok").Content},
			})
		}
		v := fold.New(h.add(0, "", 0, &event.RunEnded{Status: event.RunFailed}).log)
		notes[v.Past.Messages[0].Text()] = true
	}
	if len(notes) != 1 {
		t.Errorf("the note depends on the order in which they ended: %v", notes)
	}
}

// The list of reasons is closed: package event has no reason that Next does not give.
func TestEveryWhyIsGiven(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for _, c := range nextCases {
		v, in := c.ask()
		given[string(next(v.Run.Scopes[0], in).Why)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "event/message.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Why" {
			return true
		}
		for _, value := range spec.Values {
			word, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			known++
			if !given[word] {
				t.Errorf("Next never goes on or ends because of %q", word)
			}
		}
		return true
	})
	if known < 15 {
		t.Errorf("only %d reasons were found", known)
	}
}
