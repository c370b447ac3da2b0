package server

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// titles tells a stream of the title that the first completed run gives its conversation.
type titles struct {
	service      *service.Service
	who          service.Principal
	conversation string
	// run is the only run that the stream shows; empty for all of them.
	run string
	// told is set once the stream has the title.
	told bool
	// until is how long a stream of all runs looks for a title that is being made; the zero time is not at all.
	until time.Time
	// next is when it looks again.
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
	if !ok || t.told || b.Status != event.RunCompleted || t.run != "" && e.Run != t.run {
		return dst
	}
	if dst = t.append(ctx, dst); !t.told && t.run == "" { // the stream goes on: it reports the title once it is there
		now := time.Now()
		t.until, t.next = now.Add(titlePatience), now.Add(titleLook)
	}
	return dst
}

// append appends the title if there is one.
func (t *titles) append(ctx context.Context, dst []byte) []byte {
	title, err := t.service.Title(ctx, t.who, t.conversation)
	if err != nil || title == "" {
		return dst
	}
	t.told, t.until, t.next = true, time.Time{}, time.Time{}
	return native.AppendFrame(dst, &native.Title{Title: title})
}

// Due returns when to look for a title that is being made.
func (t *titles) Due() time.Time { return t.next }

// Look appends a title that was made after the run's end.
func (t *titles) Look(ctx context.Context, dst []byte) ([]byte, error) {
	if t.next.IsZero() || time.Now().Before(t.next) {
		return dst, nil
	}
	dst = t.append(ctx, dst)
	if now := time.Now(); now.After(t.until) {
		t.next = time.Time{}
	} else {
		t.next = now.Add(titleLook)
	}
	return dst, nil
}
