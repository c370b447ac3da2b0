package agui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agui"
)

// turn is the reading of a run for one request.
type turn struct {
	front.Turn

	x       *front.Exchange
	who     service.Principal
	encoder wire.Encoder
}

// answerInput has a run accepted or answers the one that waits, and streams it.
func answerInput(x *front.Exchange, in *input) error {
	ctx, unwatch := x.Watch()
	defer unwatch()
	conv, err := conversation(ctx, x, in.Thread)
	if err != nil {
		return err
	}
	t := &turn{
		x: x, who: x.Who.Principal,
		encoder: wire.Encoder{Thread: in.Thread, ID: in.Run, Messages: in.Messages, State: in.State},
	}
	t.Open(x, conv.ID, &t.encoder)
	t.Heartbeat = x.Options.Heartbeat
	if len(in.Resume) > 0 {
		err = t.resume(ctx, &conv, in.Resume)
	} else {
		err = t.begin(ctx, &conv, in)
	}
	if err != nil {
		return err
	}
	defer t.Follower.Close()
	if err := t.Ahead(ctx); err != nil {
		return err
	}
	x.Run = t.Story.Run
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
	conv, err := x.Options.Service.OpenConversation(ctx, x.Who.Principal, "agui thread "+thread, service.NewConversation{
		Metadata: map[string]string{"agui_thread": thread},
	})
	if errors.Is(err, event.ErrNotFound) { // there is one of this name, and it is another user's
		return conv, &event.Error{Kind: event.ErrNotFound, Message: "there is no such thread", Hint: "use a threadId of your own: a new UUID"}
	}
	return conv, err
}

// begin has a run accepted, or finds the one that the same request has begun. What still runs in the thread is ended: a
// client that stops reading has no other word for stop.
func (t *turn) begin(ctx context.Context, conv *service.Conversation, in *input) error {
	r, err := in.request()
	if err != nil {
		return err
	}
	r.Key, r.Policy, r.Watch = "agui "+in.Run, braid.Interrupt, true
	r.Trace = service.TraceOf(t.x.R.Header.Values("Traceparent"), t.x.R.Header.Values("Tracestate"))
	same := func(run journal.Run) bool { return run.Key == r.Key }
	if conv.Status == event.RunWaiting && !slices.ContainsFunc(conv.Open, same) {
		return &event.Error{
			Kind: event.ErrConflict, Message: "the thread waits for answers to its interrupts", Hint: "send them as resume",
		}
	}
	started, err := t.Service.StartRun(ctx, t.who, t.Conversation, r)
	if err != nil {
		return err
	}
	t.show(started.Run.ID)
	t.Follower = started.Follower
	if t.Follower == nil { // the run was there: all of it is told again
		err = t.Follow(ctx, started.After)
	}
	return err
}

func (t *turn) show(run string) { t.Story.Run, t.encoder.Run = run, run }

// resume answers what the thread's run waits for. The stream begins behind the answers: the client has what was before. The
// same answers sent again are taken as such.
func (t *turn) resume(ctx context.Context, conv *service.Conversation, answers []answer) error {
	s := t.Service
	open, err := s.Questions(ctx, t.who, t.Conversation)
	if err != nil {
		return err
	}
	before, to := map[string]*answer{}, int64(stream.ToTheEnd)
	for i := range answers {
		a := &answers[i]
		if !slices.ContainsFunc(open, func(q braid.Question) bool { return q.Token == a.ID }) {
			before[a.ID] = a
		} else if len(conv.Open) > 0 {
			t.show(conv.Open[0].ID)
		}
	}
	if len(before) > 0 {
		if to, err = t.answered(ctx, before); err != nil {
			return err
		}
	}
	at, err := t.Skip(ctx, t.Log, to, nil)
	if err != nil {
		return err
	}
	if err = t.Follow(ctx, at); err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		at := slices.IndexFunc(open, func(q braid.Question) bool { return q.Token == a.ID })
		switch {
		case at < 0:
			continue
		case a.Status == "cancelled" && open[at].Ask != event.AskApproval: // nobody will say it: the run has nothing to go on with
			err = s.CancelRun(ctx, t.who, t.Conversation, t.Story.Run)
		case a.Status == "cancelled":
			_, err = s.Answer(ctx, t.who, t.Conversation, a.ID, json.RawMessage(`{"approved":false}`))
		default:
			_, err = s.Answer(ctx, t.who, t.Conversation, a.ID, a.Payload)
		}
		if err != nil {
			t.Follower.Close()
			return err
		}
		t.Pause.Awaited[a.ID] = true
	}
	return nil
}

// answered finds answers that were given before in the log, and the run that they went to. It returns the place before the
// first of them. An answer to nothing, and one that says something else than before, are refused.
func (t *turn) answered(ctx context.Context, given map[string]*answer) (to int64, err error) {
	to = stream.ToTheEnd
	unknown := &event.Error{
		Kind: event.ErrConflict, Message: "an answer does not belong to an open interrupt", Hint: "answer each interrupt once",
	}
	all, err := stream.FindAnswers(ctx, t.Log, 0, given, func(e *event.Event, b *event.Answered, a *answer) error {
		if b.By != t.who.User || a.Status != "cancelled" && !strictjson.Same(b.Value, a.Payload) {
			return unknown
		}
		to = min(to, e.Seq-1)
		t.show(e.Run)
		return nil
	})
	if err == nil && !all {
		err = unknown
	}
	return to, err
}
