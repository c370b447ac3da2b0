package agui

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agui"
)

// New makes a handler, which is safe for concurrent use. A caller needs a credential that may write.
func New(o front.Options) http.Handler {
	return front.New(o, front.Route{Path: "/agui", Answer: answer})
}

// answer starts a run or answers the one that waits, and streams it.
func answer(x *front.Exchange, body []byte) error {
	in, err := parse(body)
	if err != nil {
		return err
	}
	ctx, unwatch := x.Watch()
	defer unwatch()
	conv, err := conversation(ctx, x, in.Thread)
	if err != nil {
		return err
	}
	enc := wire.Encoder{Thread: in.Thread, ID: in.Run, Messages: in.Messages, State: in.State}
	var t front.Turn
	t.Open(x, conv.ID, &enc)
	if len(in.answers) > 0 {
		err = resume(ctx, x, &t, &conv, &in)
	} else {
		err = begin(ctx, x, &t, &conv, &in)
	}
	if err != nil {
		return err
	}
	defer t.Follower.Close()
	x.W.Header().Set("X-Conversation-Id", x.Conversation)
	x.W.Header().Set("X-Run-Id", x.Run)
	x.Stream(ctx, &t.Stream, wire.Wire)
	return nil
}

// conversation finds the conversation of a thread, or creates it. A thread may be named by its conversation's id.
func conversation(ctx context.Context, x *front.Exchange, thread string) (service.Conversation, error) {
	if strings.HasPrefix(thread, "conv_") {
		return x.Options.Service.GetConversation(ctx, x.Who.Principal, thread)
	}
	return x.Named(ctx, "agui", "thread", thread, "use a threadId of your own: a new UUID")
}

// begin starts a run, or finds the run that an earlier copy of the request started. It ends the thread's running run: a
// client has no other way to stop it than to stop reading.
func begin(ctx context.Context, x *front.Exchange, t *front.Turn, conv *service.Conversation, in *input) error {
	r, err := in.request()
	if err != nil {
		return err
	}
	r.Key, r.Policy = "agui "+in.Run, braid.Interrupt
	same := func(run journal.Run) bool { return run.Key == r.Key }
	if conv.Status == event.RunWaiting && !slices.ContainsFunc(conv.Open, same) {
		return front.Refusal(event.ErrConflict, "the thread waits for answers to its interrupts", "send them as resume")
	}
	started, err := x.Start(ctx, r)
	if err != nil {
		return err
	}
	return t.Begin(ctx, &started)
}

// resume answers the questions of the thread's waiting run. A cancelled approval means no. A run cannot go on without any
// other answer, so cancelling that one cancels the run.
func resume(ctx context.Context, x *front.Exchange, t *front.Turn, conv *service.Conversation, in *input) error {
	unknown := front.Refusal(event.ErrConflict, "an answer does not belong to an open interrupt", "answer each interrupt once")
	decline := func(ctx context.Context, q *braid.Question) error {
		if q.Ask != event.AskApproval {
			return t.Service.CancelRun(ctx, x.Who.Principal, conv.ID, t.Story.Run)
		}
		_, err := t.Service.Answer(ctx, x.Who.Principal, conv.ID, q.Token, json.RawMessage(`{"approved":false}`))
		return err
	}
	return t.Resume(ctx, conv, &front.Resumption{Answers: in.answers, Again: math.MaxInt64, Own: &in.own, Unknown: unknown, Decline: decline})
}
