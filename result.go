package braid

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/trace"
)

// Result is what a run came to. It is filled as far as the run got, also where
// an error stands beside it.
type Result struct {
	// Conversation is where the run stands, for the next one.
	Conversation *Conversation
	// Run is the run's id.
	Run string
	// Status is how the run stands: ended, or waiting for an answer or for WakeAt;
	// running where [Agent.Drive] has handed it back.
	Status event.RunStatus
	// WakeAt is when a waiting run goes on by itself; zero means that it does not.
	WakeAt time.Time
	// Stop is why it ended, Why the same in the loop's words.
	Stop event.StopReason
	Why  event.Why
	// Message is the root agent's last whole answer; Partial is what it had said
	// of the next one when it was cut off.
	Message event.Message
	Partial []event.Block
	// Usage sums all model calls of the run. CostNanoUSD is what they cost in 1e-9 US
	// dollars; nil where a part of it is not known: unknown is not zero. It is read only.
	Usage       event.Usage
	CostNanoUSD *int64
	// Estimated says that Usage and CostNanoUSD hold an estimate for a call that was cut.
	Estimated bool
	// Metrics counts what the run did.
	Metrics event.Metrics
	// State is the run's own state: what tools set with [StateRun] and [StateTemp], without
	// the prefix (Strands' request state).
	State map[string]json.RawMessage
	// Output is the answer as JSON, where it was to be that ([OutputSchema]) and is. See
	// [OutputOf].
	Output json.RawMessage
	// Questions are open where Stop is [event.StopQuestion].
	Questions []Question
	// Simulated says that the model followed a script.
	Simulated bool
}

// Text is the message's text; where the answer was given as JSON and without words, it is that.
func (r *Result) Text() string {
	if text := r.Message.Text(); text != "" || len(r.Output) == 0 {
		return text
	}
	return string(r.Output)
}

// Question is an open question of a waiting run.
type Question = event.Question

// fill sets the result from the fold of its run.
func (r *Result) fill(run *fold.Run, state *fold.State, now time.Time) {
	r.Run = run.ID
	r.Message = run.LastMessage
	r.Usage = run.Usage
	r.Metrics = run.Metrics
	r.Metrics.Duration = now.Sub(run.Started)
	r.Metrics.Tools = slices.Clone(run.Metrics.Tools) // the run may go on
	r.State = state.Run()
	if run.Ended != nil {
		r.Status, r.Stop, r.Why = run.Ended.Status, run.Ended.Stop, run.Ended.Why
		r.CostNanoUSD, r.Estimated, r.Output = run.Ended.CostNanoUSD, run.Ended.Estimated, run.Ended.Output
		return
	}
	_, r.CostNanoUSD, r.Estimated = run.Bill()
	r.Status = event.RunWaiting
	r.Stop, r.Why = event.StopQuestion, event.WhyWaiting
	r.Questions = run.OpenQuestions()
}

// Trace returns the tree of what the run did. It reads the conversation's log.
func (r *Result) Trace(ctx context.Context) (*trace.Span, error) {
	var t trace.Tree
	if r.Conversation == nil {
		return nil, nil //nolint:nilnil // nothing was done
	}
	for e, err := range r.Conversation.Events(ctx, 0) {
		if err != nil {
			return nil, err
		}
		if e.Run == r.Run {
			t.Add(e)
		}
	}
	return t.Root(), nil
}

// outcome is the result as hooks get it.
func (r *Result) outcome(conversation string) hook.Outcome {
	return hook.Outcome{
		Conversation: conversation, Run: r.Run, Status: r.Status, WakeAt: r.WakeAt, Stop: r.Stop, Why: r.Why,
		Message: r.Message, Partial: r.Partial, Output: r.Output,
		Usage: r.Usage, CostNanoUSD: r.CostNanoUSD, Estimated: r.Estimated, Metrics: r.Metrics,
		State: r.State, Questions: r.Questions, Simulated: r.Simulated,
	}
}

// agentInput reads the arguments of a call to an agent, or says what is wrong.
func agentInput(c *event.ToolCall) ([]event.Block, string) {
	if c.Args == nil {
		return nil, "Error: " + c.Fault + "."
	}
	var args struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil || args.Input == "" {
		return nil, `Error: invalid arguments: input is missing; it says what the agent is to do.`
	}
	return []event.Block{&event.Text{Text: args.Input}}, ""
}
