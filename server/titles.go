package server

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// titles tells a stream of the title that the first completed run gives its conversation.
type titles struct {
	of *reading
	// told is set once the stream has the title.
	told bool
	// until is how long a stream of all runs looks for a title that is being made.
	until time.Time
	// next is when it looks again; the zero time is never.
	next time.Time
}

// How often, and for how long after a run's end, a stream of all runs looks for a title that is being made.
const (
	titleLook     = time.Second
	titlePatience = 30 * time.Second
)

// Before appends the title before the end of the run that gave it. The end does not wait for a title that a model is
// making.
func (t *titles) Before(ctx context.Context, dst []byte, e *event.Event) []byte {
	b, ok := e.Body.(*event.RunEnded)
	if !ok || t.told || b.Status != event.RunCompleted || t.of.Story.Run != "" && e.Run != t.of.Story.Run {
		return dst
	}
	if dst = t.append(ctx, dst); !t.told && t.of.Story.Run == "" { // the stream goes on: it reports the title once it is there
		now := time.Now()
		t.until, t.next = now.Add(titlePatience), now.Add(titleLook)
	}
	return dst
}

// append appends the title if there is one.
func (t *titles) append(ctx context.Context, dst []byte) []byte {
	title, err := t.of.server.service.Title(ctx, t.of.who, t.of.conversation)
	if err != nil || title == "" {
		return dst
	}
	t.told, t.next = true, time.Time{}
	return native.AppendFrame(dst, &native.Title{Title: title})
}

// Due returns when to look for a title that is being made.
func (t *titles) Due() time.Time { return t.next }

// Look appends a title that was made after the run's end.
func (t *titles) Look(ctx context.Context, dst []byte) ([]byte, error) {
	if t.next.IsZero() || time.Now().Before(t.next) {
		return dst, nil
	}
	if dst = t.append(ctx, dst); t.told {
		return dst, nil
	}
	now := time.Now()
	if t.next = now.Add(titleLook); now.After(t.until) {
		t.next = time.Time{}
	}
	return dst, nil
}
