package wire

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// Feed gives an encoder the story of a conversation, event by event.
type Feed struct {
	Story   story.Story
	Encoder Encoder
}

// Append appends what the next event gives.
func (f *Feed) Append(dst []byte, e *event.Event) []byte { return f.append(dst, f.Story.Add(e)) }

// AppendSnapshot appends what stands for the live events of a step in flight that the reader missed.
func (f *Feed) AppendSnapshot(dst []byte, s *event.Snapshot) []byte {
	return f.append(dst, f.Story.Snapshot(s))
}

// Skip takes in an event that the reader has already.
func (f *Feed) Skip(e *event.Event) {
	if it := f.Story.Skip(e); it != nil {
		f.Encoder.Skip(it)
		*it = story.Item{}
	}
}

func (f *Feed) append(dst []byte, it *story.Item) []byte {
	if it != nil {
		dst = f.Encoder.Append(dst, it)
		*it = story.Item{} // an event must not be kept for as long as nothing comes
	}
	return dst
}
