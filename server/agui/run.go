package agui

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agui"
)

// answerInput has a run accepted or answers the one that waits, and streams it.
func answerInput(x *front.Exchange, in *input) error {
	ctx, unwatch := x.Watch()
	defer unwatch()
	conv, err := conversation(ctx, x, in.Thread)
	if err != nil {
		return err
	}
	enc := wire.Encoder{Thread: in.Thread, ID: in.Run, Messages: in.Messages, State: in.State}
	t := &turn{}
	t.Open(x, conv.ID, &enc)
	t.Heartbeat = x.Options.Heartbeat
	if len(in.Resume) > 0 {
		err = t.resume(ctx, &conv, in.Resume)
	} else {
		err = t.begin(ctx, x, &conv, in)
	}
	if err != nil {
		return err
	}
	defer t.Follower.Close()
	if err := t.Ahead(ctx); err != nil {
		return err
	}
	enc.Run, x.Run = t.Story.Run, t.Story.Run
	x.W.Header().Set("X-Conversation-Id", x.Conversation)
	x.W.Header().Set("X-Run-Id", x.Run)
	x.Stream(ctx, &t.Stream, wire.Wire)
	return nil
}

// conversation finds the one of a thread, or makes it. A thread that is named like a conversation is that conversation.
func conversation(ctx context.Context, x *front.Exchange, thread string) (service.Conversation, error) {
	if strings.HasPrefix(thread, "conv_") {
		return x.Options.Service.GetConversation(ctx, x.Who.Principal, thread)
	}
	return x.Named(ctx, "agui", "thread", thread, "use a threadId of your own: a new UUID")
}

// turn is the reading of a run for one request.
type turn struct{ front.Turn }

// begin has a run accepted, or finds the one that the same request has begun. What still runs in the thread is ended: a
// client that stops reading has no other word for stop.
func (t *turn) begin(ctx context.Context, x *front.Exchange, conv *service.Conversation, in *input) error {
	r, err := in.request()
	if err != nil {
		return err
	}
	r.Key, r.Policy, r.Watch = "agui "+in.Run, braid.Interrupt, true
	r.Trace = service.TraceOf(x.R.Header.Values("Traceparent"), x.R.Header.Values("Tracestate"))
	same := func(run journal.Run) bool { return run.Key == r.Key }
	if conv.Status == event.RunWaiting && !slices.ContainsFunc(conv.Open, same) {
		return &event.Error{
			Kind: event.ErrConflict, Message: "the thread waits for answers to its interrupts", Hint: "send them as resume",
		}
	}
	started, err := t.Service.StartRun(ctx, x.Who.Principal, t.Conversation, r)
	if err != nil {
		return err
	}
	t.Story.Run, t.Follower = started.Run.ID, started.Follower
	if t.Follower == nil { // the run was there: all of it is told again
		err = t.Follow(ctx, started.After)
	}
	return err
}

// resume answers what the thread's run waits for.
func (t *turn) resume(ctx context.Context, conv *service.Conversation, answers []answer) error {
	r := front.Resumption{Again: math.MaxInt64, Decline: t.decline, Unknown: &event.Error{
		Kind: event.ErrConflict, Message: "an answer does not belong to an open interrupt", Hint: "answer each interrupt once",
	}}
	for _, a := range answers {
		given := front.Answer{Token: a.ID, Value: a.Payload}
		if a.Status == "cancelled" {
			given.Value = nil
		}
		r.Answers = append(r.Answers, given)
	}
	return t.Resume(ctx, conv, &r)
}

// decline takes that the user cancels an interrupt. A call is not approved then; without anything else the run cannot go on.
func (t *turn) decline(ctx context.Context, q *braid.Question) error {
	if q.Ask != event.AskApproval {
		return t.Service.CancelRun(ctx, t.Pause.Who, t.Conversation, t.Story.Run)
	}
	_, err := t.Service.Answer(ctx, t.Pause.Who, t.Conversation, q.Token, json.RawMessage(`{"approved":false}`))
	return err
}
