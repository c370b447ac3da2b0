package braid

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/trace"
)

// Result is the outcome of a run. It holds what was done so far, also beside an error.
type Result struct {
	// Conversation is the run's conversation, for the next run.
	Conversation *Conversation
	// Run is the run's id.
	Run string
	// Status says whether the run ended or waits, for an answer or until WakeAt. It is running if [Agent.Drive] has
	// handed the run back.
	Status event.RunStatus
	// WakeAt is when a waiting run continues by itself; zero means never.
	WakeAt time.Time
	// Stop is why the run ended. Why is the reason in the loop's own terms.
	Stop event.StopReason
	Why  event.Why
	// Message is the root agent's last complete answer. Partial is what it had said of the next one when that was cut
	// off.
	Message event.Message
	Partial []event.Block
	// Usage sums all model calls of the run. CostNanoUSD is their cost in 1e-9 US dollars; nil if a part of it is
	// unknown. Do not change it.
	Usage       event.Usage
	CostNanoUSD *int64
	// Estimated says that Usage and CostNanoUSD contain an estimate for a call that was cut off.
	Estimated bool
	// Metrics counts what the run did.
	Metrics event.Metrics
	// State is the run's own state: what tools set with [StateRun] and [StateTemp], without the prefix (Strands' request
	// state).
	State map[string]json.RawMessage
	// Output is the structured output as JSON ([OutputSchema]); nil for none. See [OutputOf].
	Output json.RawMessage
	// Questions are the open questions if Stop is [event.StopQuestion].
	Questions []Question
	// Repaired says how the given history was changed so that models accept it, one entry for each repair: calls without
	// results, results without calls, messages without content. The log has the same as a notice
	// ([event.NoticeRepaired]).
	Repaired []string
	// Simulated says that the model followed a script.
	Simulated bool
}

// Text is the text of the message, with separate texts on lines of their own ([event.TextOf]). If the output came as JSON
// and without text, it is that JSON.
func (r *Result) Text() string {
	if len(r.Output) == 0 {
		return r.Message.Text()
	}
	if text := event.RawText(r.Message.Content); text != "" {
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
//
//go:noinline
func (r *Result) set(o *hook.Outcome) {
	r.Run, r.Status, r.WakeAt, r.Stop, r.Why = o.Run, o.Status, o.WakeAt, o.Stop, o.Why
	r.Message, r.Partial, r.Output = o.Message, o.Partial, o.Output
	r.Usage, r.CostNanoUSD, r.Estimated, r.Metrics = o.Usage, o.CostNanoUSD, o.Estimated, o.Metrics
	if o.State == nil {
		o.State = map[string]json.RawMessage{}
	}
	r.State, r.Questions, r.Simulated, r.Repaired = o.State, o.Questions, o.Simulated, o.Repaired
}
