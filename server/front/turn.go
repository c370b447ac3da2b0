package front

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
)

// Turn is the reading of one run for one request. It ends if the run waits for a person.
type Turn struct {
	stream.Stream

	// Conversation is the id of the run's conversation.
	Conversation string
	Pause        stream.Pause

	x *Exchange
}

// Open prepares a turn of the exchange's caller. Set Story.Run before the first event is read.
func (t *Turn) Open(x *Exchange, conversation string, enc stream.Interrupter) {
	t.x, t.Conversation, x.Conversation = x, conversation, conversation
	t.Pause = stream.Pause{
		Stream: &t.Stream, Encoder: enc, Who: x.Who.Principal, Conversation: conversation, Awaited: map[string]bool{},
	}
	t.Encoder, t.Extra, t.Service = enc, &t.Pause, x.Options.Service
}

// Log reads the conversation's log.
func (t *Turn) Log(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
	return t.Service.Events(ctx, t.x.Who.Principal, t.Conversation, after, limit)
}

// Start starts a run in the exchange's conversation, or finds the run that the same request has started before. Give the
// result to [Turn.Begin], which reads it, or close its follower.
func (x *Exchange) Start(ctx context.Context, r service.RunRequest) (service.Started, error) {
	r.Watch = true
	r.Trace = service.TraceOf(x.R.Header.Values("Traceparent"), x.R.Header.Values("Tracestate"))
	return x.Options.Service.StartRun(ctx, x.Who.Principal, x.Conversation, r)
}

// Begin reads a run that was started. A run that the same request has started before is read from its beginning.
func (t *Turn) Begin(ctx context.Context, s *service.Started) (err error) {
	t.Story.Run, t.x.Run, t.Follower = s.Run.ID, s.Run.ID, s.Follower
	if t.Follower == nil {
		err = t.Follow(ctx, s.After)
	}
	return err
}

// Follow reads the conversation from a position. It reads the existing events at once, so that a conversation that cannot be
// read is refused before the stream begins. After an error the follower is closed.
func (t *Turn) Follow(ctx context.Context, after int64) (err error) {
	if t.Follower, err = t.Service.Follow(ctx, t.x.Who.Principal, t.Conversation, after); err != nil {
		return err
	}
	if err = t.Ahead(ctx); err != nil {
		t.Follower.Close()
	}
	return err
}
