package stream

import (
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Interrupter is an encoder of a protocol that ends a stream when its run waits for a person: another request brings the
// answers.
type Interrupter interface {
	wire.Encoder
	// AppendInterrupted appends the end of the stream of a run that waits for answers to questions.
	AppendInterrupted(dst []byte, open []event.Question) []byte
}

// Pause ends a stream once its run waits for a person. It is the stream's [Extra].
type Pause struct {
	Stream  *Stream
	Encoder Interrupter
	// Who reads Conversation.
	Who          service.Principal
	Conversation string
	// Awaited are the tokens of questions that were just answered. The run does not wait before the log has the answers.
	Awaited map[string]bool
	// Open are the questions that the stream was ended for.
	Open []event.Question
}

// pausePoll is how often a run that has asked something is looked at: whether all of it waits now.
const pausePoll = 100 * time.Millisecond

// Before appends nothing.
func (*Pause) Before(_ context.Context, dst []byte, _ *event.Event) []byte { return dst }

// Due returns when to look whether the run waits.
func (p *Pause) Due() time.Time {
	if !p.asked() {
		return time.Time{}
	}
	return time.Now().Add(pausePoll)
}

// asked reports whether the run may wait for an answer that was not given.
func (p *Pause) asked() bool {
	open := p.Stream.Story.Now().Open
	return len(open) > 0 && !slices.ContainsFunc(open, func(q story.Question) bool { return p.Awaited[q.Token] })
}

// Look ends the stream if the run waits for a person now.
func (p *Pause) Look(ctx context.Context, dst []byte) ([]byte, error) {
	if !p.asked() {
		return dst, nil
	}
	s := p.Stream.Service
	run, err := s.GetRun(ctx, p.Who, p.Conversation, p.Stream.Story.Run)
	if err != nil || run.Status != event.RunWaiting {
		return dst, err
	}
	open, err := s.Questions(ctx, p.Who, p.Conversation)
	if err != nil || len(open) == 0 {
		return dst, err
	}
	// A run that waits writes nothing: what there is was told, or comes first.
	if rest, err := s.Events(ctx, p.Who, p.Conversation, p.Stream.Story.Last(), 1); err != nil || len(rest) > 0 {
		return dst, err
	}
	p.Open, p.Stream.Over = open, true
	return p.Encoder.AppendInterrupted(dst, open), nil
}
