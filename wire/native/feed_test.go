package native_test

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/native"
)

// encoder is an encoder that is given events.
type encoder struct {
	wire.Feed
	*native.Encoder
}

func newEncoder() *encoder {
	enc := native.NewEncoder("c1")
	return &encoder{Feed: wire.Feed{Encoder: enc}, Encoder: enc}
}

func (enc *encoder) Append(dst []byte, e *event.Event) []byte { return enc.Feed.Append(dst, e) }

func (enc *encoder) Skip(e *event.Event) { enc.Feed.Skip(e) }

// Frames gives the frames of the next event.
func (enc *encoder) Frames(e *event.Event) []native.Frame {
	if it := enc.Story.Add(e); it != nil {
		return enc.Encoder.Frames(it)
	}
	return nil
}

// SnapshotFrames gives those of a snapshot.
func (enc *encoder) SnapshotFrames(s *event.Snapshot) []native.Frame {
	if it := enc.Story.Snapshot(s); it != nil {
		return enc.Encoder.Frames(it)
	}
	return nil
}

func (enc *encoder) Cursor() native.Cursor { return native.Cursor{Seq: enc.Story.Last()} }
