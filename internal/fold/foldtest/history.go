// Package foldtest writes logs in short words, for tests of what folds them.
package foldtest

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Noon is the clock of the tables; Later is a minute after it.
var (
	Noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	Later = Noon.Add(time.Minute)
)

// History is the log of a run. Its methods append what a driver would write.
type History struct {
	Log []*event.Event
}

// OutputTool is the name of the tool that takes an agent's output.
const OutputTool = "final_answer"

// Add appends an event of a cycle, step and attempt.
func (h *History) Add(cycle int, step string, attempt int, body event.Body) *History {
	e := &event.Event{Body: body}
	e.Seq, e.Run, e.Cycle, e.Step, e.Attempt, e.Time = int64(len(h.Log)+1), "run", cycle, step, attempt, Noon
	h.Log = append(h.Log, e)
	return h
}

// Asked is a run that has its input.
func Asked() *History {
	h := &History{}
	return h.Add(0, "", 0, &event.RunStarted{Agent: "root", Turn: 1, Session: 1}).
		Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "go"}}})
}

// Refuses is a model call in which the model refuses the conversation as too long.
func (h *History) Refuses(cycle, attempt int) *History {
	return h.Model(cycle, attempt).Add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, Err: &event.Error{Kind: event.ErrContextOverflow, Message: "too long"},
	})
}

// Sums begins the model call for a summary.
func (h *History) Sums(cycle, attempt int, why event.Why) *History {
	return h.Add(cycle, fold.StepName("", 'c', cycle, 0), attempt, &event.StepBegun{Step: event.StepCompaction, Why: why})
}

// Summed ends the model call for a summary without one.
func (h *History) Summed(cycle, attempt int, o event.Outcome, retryAt time.Time) *History {
	return h.Add(cycle, fold.StepName("", 'c', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepCompaction, Outcome: o, RetryAt: retryAt, Err: &event.Error{Kind: event.ErrThrottled, Message: "busy"},
	})
}

// Compacts leaves out the first message.
func (h *History) Compacts(cycle int) *History {
	return h.Add(cycle, "", 0, &event.Compacted{From: 2, To: 2})
}

// Model begins a model call.
func (h *History) Model(cycle, attempt int) *History {
	return h.Add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepBegun{Step: event.StepModel})
}

// Says ends a model call with text.
func (h *History) Says(cycle int, stop event.StopReason) *History {
	return h.Add(cycle, fold.StepName("", 'm', cycle, 0), 1, &event.AssistantMessage{
		Content: []event.Block{&event.Text{Text: "so"}}, Stop: stop, Usage: event.Usage{Total: 10},
	})
}

// Calls is a model call whose answer calls these tools.
func (h *History) Calls(cycle int, tools ...string) *History {
	m := &event.AssistantMessage{Stop: event.StopToolUse, Usage: event.Usage{Total: 10}}
	for i, name := range tools {
		m.Content = append(m.Content, &event.ToolCall{ID: "c" + strconv.Itoa(i), Name: name, Args: json.RawMessage("{}")})
	}
	return h.Model(cycle, 1).Add(cycle, fold.StepName("", 'm', cycle, 0), 1, m)
}

// Falls ends a model call that another model is to be asked for.
func (h *History) Falls(cycle, attempt int, model string) *History {
	return h.Add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: Noon, Fallback: model, Err: &event.Error{Kind: event.ErrModelAuth},
	})
}

// Fails ends a model call without an answer.
func (h *History) Fails(cycle, attempt int, outcome event.Outcome, retryAt time.Time) *History {
	return h.Add(cycle, fold.StepName("", 'm', cycle, 0), attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: outcome, RetryAt: retryAt, Err: &event.Error{Kind: event.ErrThrottled},
	})
}

// Begins begins the call with that index.
func (h *History) Begins(cycle, i, attempt int) *History {
	return h.Add(cycle, fold.StepName("", 't', cycle, i), attempt, &event.StepBegun{
		Step: event.StepTool, Call: "c" + strconv.Itoa(i), Effect: event.EffectPure,
	})
}

// Opens begins a call of an agent and opens its scope.
func (h *History) Opens(cycle, i int) *History {
	return h.Begins(cycle, i, 1).Add(cycle, fold.StepName("", 't', cycle, i), 1, &event.ScopeOpened{
		ID: fold.StepName("", 't', cycle, i), Call: "c" + strconv.Itoa(i), Agent: "sub", Depth: 1, Input: []event.Block{&event.Text{Text: "do"}},
	})
}

// Behind is a call whose agent works in the background. dependent says that the run does not wait for it.
func (h *History) Behind(cycle, i int, dependent bool) *History {
	step := fold.StepName("", 't', cycle, i)
	return h.Begins(cycle, i, 1).Add(cycle, step, 1, &event.ScopeOpened{
		ID: step, Call: "c" + strconv.Itoa(i), Agent: "sub", Depth: 1, Task: true, Background: true, Dependent: dependent,
	}).Add(cycle, step, 1, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone,
		Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: []event.Block{&event.Text{Text: "later"}}},
	})
}

// Closes ends the scope that a call opened.
func (h *History) Closes(cycle, i int) *History {
	return h.Add(cycle, "", 0, &event.ScopeClosed{ID: fold.StepName("", 't', cycle, i), Output: []event.Block{&event.Text{Text: "done"}}})
}

// Heard is what the loop says of agents in the background that have ended.
func (h *History) Heard() *History {
	return h.Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "it has ended"}}, Why: event.WhyTask})
}

// Ends is a call from its begin to its end; endTurn stops the loop.
func (h *History) Ends(cycle, i int, endTurn bool) *History {
	return h.Begins(cycle, i, 1).Add(cycle, fold.StepName("", 't', cycle, i), 1, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, EndTurn: endTurn,
		Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: []event.Block{&event.Text{Text: "ok"}}},
	})
}

// Returns ends a call with a result that is to be the answer.
func (h *History) Returns(cycle, i int, isError bool) *History {
	return h.Begins(cycle, i, 1).Add(cycle, fold.StepName("", 't', cycle, i), 1, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, ReturnDirect: true,
		Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: []event.Block{&event.Text{Text: "ok"}}, IsError: isError},
	})
}

// Called is a run whose program itself calls tools.
func Called(tools ...string) *History {
	m := &event.AssistantMessage{Stop: event.StopToolUse}
	for i, name := range tools {
		m.Content = append(m.Content, &event.ToolCall{ID: "c" + strconv.Itoa(i), Name: name, Args: json.RawMessage("{}")})
	}
	return Asked().Add(0, "", 0, m)
}

// Asks is a call that asks a question.
func (h *History) Asks(cycle, i int, token string) *History {
	return h.Begins(cycle, i, 1).Add(cycle, fold.StepName("", 't', cycle, i), 1, &event.Asked{Token: token, Call: "c" + strconv.Itoa(i)})
}

// Answers answers a question.
func (h *History) Answers(token string) *History {
	return h.Add(0, "", 0, &event.Answered{Token: token, Value: []byte("true")})
}

// Wants is what the loop says where an output has not its form.
func (h *History) Wants() *History {
	return h.Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "in its form"}}, Why: event.WhyAnswer})
}

// Stuck is so many cycles of one call that brings the same.
func (h *History) Stuck(cycles int) *History {
	for cycle := 1; cycle <= cycles; cycle++ {
		h.Calls(cycle, "a").Ends(cycle, 0, false)
	}
	return h
}

// Told is what the loop says about a call that brings nothing new.
func (h *History) Told() *History {
	return h.Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "again?"}}, Why: event.WhyRepeats})
}

// Gives is a call of the tool that takes the output.
func (h *History) Gives(cycle int, answer string, refused bool) *History {
	end := &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, EndTurn: !refused,
		Result: &event.ToolResult{Call: "c0", Name: OutputTool, IsError: refused, Content: []event.Block{&event.Text{Text: "so"}}},
	}
	if !refused {
		end.Result.Structured = []byte(answer)
	}
	return h.Begins(cycle, 0, 1).Add(cycle, fold.StepName("", 't', cycle, 0), 1, end)
}

// Again is a cycle in which the output was asked for once more and not taken.
func (h *History) Again(cycle int) *History {
	h.Calls(cycle, OutputTool)
	if b, ok := h.Log[len(h.Log)-2].Body.(*event.StepBegun); ok && cycle > 1 {
		b.Why = event.WhyAnswer
	}
	return h.Gives(cycle, "", true)
}
