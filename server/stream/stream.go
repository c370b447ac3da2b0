package stream

import (
	"context"
	"math"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire"
)

// Stream is one reader of a conversation, or of one run of it. The goroutine that calls Send does everything: it takes
// all that is ready, encodes it into one buffer and sends that in one write. So nothing is held back, and a burst costs
// one write. A reader that is too slow gets a snapshot from the bus; nothing waits for it.
//
// Set the exported fields before the first call, and close the follower after the last.
type Stream struct {
	// Feed is the wire's encoder and the story that it is told: of one run if Story.Run is set, or else of all runs of the
	// conversation.
	wire.Feed

	Follower *live.Follower
	// Service says why nothing comes of the run. It is not used in a stream of all runs.
	Service *service.Service
	// Extra adds what is in no event; nil adds nothing.
	Extra Extra
	// First is sent before anything else.
	First []byte
	// Heartbeat is how long the stream is silent before Encoder.Idle is sent; 0 means for ever.
	Heartbeat time.Duration
	// Cut is called each time the bus replaced what a slow reader missed by a snapshot; nil calls nothing.
	Cut func()

	items [pageItems]live.Item
	// early is how many items Ahead has read that Read has not returned.
	early   int
	notices service.RunNotices
	// sent is when something was sent last.
	sent time.Time
	// headless is set while the head of the response waits for the first bytes.
	headless bool
}

// Extra adds to a stream what is in no event, such as the conversation's title, or that the run waits for a person.
type Extra interface {
	// Before appends what the reader is to have before an event. It is called for each event of the conversation.
	Before(ctx context.Context, dst []byte, e *event.Event) []byte
	// Due returns when Look is to be called although nothing has come; the zero time is never.
	Due() time.Time
	// Look appends what there is to say now. It is called after each batch of events and once Due has passed.
	Look(ctx context.Context, dst []byte) ([]byte, error)
}

// Sink takes one piece of a stream. now is the time of the call. The stream may use b again afterwards.
type Sink func(b []byte, now time.Time) error

const (
	// pageItems is how many items are taken from the follower at a time.
	pageItems = 16
	// batchBytes is about how much goes into one write.
	batchBytes = 32 << 10
	// batchPages bounds the pages of one write: events may give no bytes, and a reader that leaves must be noticed.
	batchPages = 64
	// keptBytes bounds the buffer that is kept between writes: one large event must not be paid for as long as the
	// stream lives.
	keptBytes = 1 << 20
	// skipEvents is how many events Skip reads at a time.
	skipEvents = 512
)

// Skip gives the encoder the events that the reader has from an earlier stream: those up to the Seq to and before the
// first for which until returns true; a nil until never does. log reads the conversation. Skip returns the Seq of the
// last event that the encoder was given.
func (s *Stream) Skip(ctx context.Context, log live.Log, to int64, until func(*event.Event) bool) (at int64, err error) {
	for at < to {
		events, err := log(ctx, at, skipEvents)
		if err != nil || len(events) == 0 {
			return at, err
		}
		for _, e := range events {
			if e.Seq > to || until != nil && until(e) {
				return at, nil
			}
			at = e.Seq
			s.Feed.Skip(e)
		}
	}
	return at, nil
}

// ToTheEnd is for Skip to go on to the end of the log.
const ToTheEnd = math.MaxInt64

// Ahead reads what is there before the stream begins, so that the server can refuse a conversation that cannot be read.
func (s *Stream) Ahead(ctx context.Context) (err error) {
	s.early, err = s.Follower.ReadBy(ctx, s.items[:], time.Now())
	return err
}

// Read waits until there are items and returns them. They are valid until the next call. There are none if nothing came
// by the given time; the zero time is never.
func (s *Stream) Read(ctx context.Context, by time.Time) ([]live.Item, error) {
	if n := s.early; n > 0 {
		s.early = 0
		return s.items[:n], nil
	}
	n, err := s.Follower.ReadBy(ctx, s.items[:], by)
	return s.items[:n], err
}

// Send sends the stream until it is over, ctx ends or sink fails: the last two mean that the reader has left.
// If the stream ends for another reason, Send tells the reader and returns that reason: ctx has ended with the reader's
// credential ([door.Ended]), or the conversation could not be read on.
func (s *Stream) Send(ctx context.Context, sink Sink) error {
	s.sent = time.Now()
	if len(s.First) > 0 && sink(s.First, s.sent) != nil {
		return nil //nolint:nilerr // the reader has left
	}
	var buf []byte
	for !s.Over {
		var err error
		buf, err = s.next(ctx, buf[:0])
		ended := door.Ended(ctx)
		switch {
		case ended != nil:
			buf, err = s.Fail(buf[:0], ended), ended
		case err != nil && ctx.Err() != nil:
			return nil //nolint:nilerr // the reader has left
		case err != nil:
			buf = s.Fail(buf, err)
		case len(buf) == 0 && !s.headless:
			continue
		}
		// The head of a response does not wait for events that give no bytes.
		s.headless = false
		s.sent = time.Now()
		if sink(buf, s.sent) != nil || err != nil {
			return err
		}
		if cap(buf) > keptBytes {
			buf = nil
		}
	}
	return nil
}

// next waits for something to tell and appends it. It may come back with nothing.
func (s *Stream) next(ctx context.Context, buf []byte) ([]byte, error) {
	items, err := s.Read(ctx, s.wake())
	if err != nil {
		return buf, err
	}
	came := len(items) > 0
	if came {
		s.notices.Came()
		buf = s.batch(ctx, buf, items)
	}
	if s.Extra != nil && !s.Over {
		if buf, err = s.Extra.Look(ctx, buf); err != nil {
			return buf, err
		}
	}
	if !came && len(buf) == 0 {
		buf = s.silent(buf)
	}
	return buf, nil
}

// wake returns when there is something to do although nothing comes; the zero time is never.
func (s *Stream) wake() time.Time {
	by := s.beat()
	if s.Story.Run != "" {
		due := s.notices.Due()
		if due.IsZero() {
			due = time.Now() // a queued run says so at once
		}
		by = earlier(by, due)
	}
	if s.Extra != nil {
		by = earlier(by, s.Extra.Due())
	}
	return by
}

// beat returns when the next heartbeat is due; the zero time is never.
func (s *Stream) beat() time.Time {
	if s.Heartbeat == 0 {
		return time.Time{}
	}
	return s.sent.Add(s.Heartbeat)
}

// earlier returns the earlier of two times. The zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// batch appends items and what is ready behind them, until that is enough for one write.
func (s *Stream) batch(ctx context.Context, buf []byte, items []live.Item) []byte {
	for page := 1; ; page++ {
		for i := range items {
			if buf = s.append(ctx, buf, &items[i]); s.Over {
				break
			}
		}
		clear(items) // an event must not be kept for as long as nothing comes
		if s.Over || len(items) < pageItems || len(buf) >= batchBytes || page == batchPages {
			return buf
		}
		items = s.items[:s.Follower.Ready(s.items[:])]
	}
}

// append appends one item.
func (s *Stream) append(ctx context.Context, buf []byte, item *live.Item) []byte {
	if item.Sync == nil {
		if s.Extra != nil {
			buf = s.Extra.Before(ctx, buf, item.Event)
		}
		return s.Append(buf, item.Event)
	}
	if item.Sync.Missed > 0 && s.Cut != nil {
		s.Cut()
	}
	for i := range item.Sync.Steps {
		buf = s.AppendSnapshot(buf, &item.Sync.Steps[i])
	}
	return buf
}

// silent appends what is due while nothing comes: why the run is not driven, or a heartbeat.
func (s *Stream) silent(buf []byte) []byte {
	now, beat, due := time.Now(), s.beat(), s.notices.Due()
	switch {
	case s.Story.Run != "" && !now.Before(due) && (beat.IsZero() || due.Before(beat)):
		if code, says := s.notices.Look(s.Service, s.Story.Run); code != "" {
			return s.Encoder.AppendNotice(buf, code, says)
		}
	case !beat.IsZero() && !now.Before(beat):
		s.sent = now // also if the encoder has nothing to say: the next heartbeat is due later
		return s.Encoder.Idle(buf)
	}
	return buf
}
