package braid

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
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

// set takes over what a drive reports. The result may be kept, so it shares nothing that the run goes on to write.
func (r *Result) set(o *hook.Outcome) {
	r.Run, r.Status, r.WakeAt, r.Stop, r.Why = o.Run, o.Status, o.WakeAt, o.Stop, o.Why
	r.Message, r.Partial, r.Output = o.Message, o.Partial, o.Output
	r.Usage, r.CostNanoUSD, r.Estimated, r.Metrics = o.Usage, o.CostNanoUSD, o.Estimated, o.Metrics
	r.State, r.Questions, r.Simulated = o.State, o.Questions, o.Simulated
}
