package front

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/stream"
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

// Follow reads the conversation from a place on.
func (t *Turn) Follow(ctx context.Context, after int64) (err error) {
	t.Follower, err = t.Service.Follow(ctx, t.x.Who.Principal, t.Conversation, after)
	return err
}
