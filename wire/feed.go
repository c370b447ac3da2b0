package wire

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// Feed gives an encoder the story of a conversation, event by event. It is used by one goroutine at a time.
type Feed struct {
	Story   story.Story
	Encoder Encoder
	// Over is set once the stream is over: the run of Story.Run has ended, or Fail was called.
	Over bool
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
		f.Over = f.Over || it.Ends
		*it = story.Item{}
	}
}

// Fail appends the last bytes of a stream that ends before its run does.
func (f *Feed) Fail(dst []byte, err error) []byte {
	f.Over = true
	return f.Encoder.Fail(dst, err)
}

func (f *Feed) append(dst []byte, it *story.Item) []byte {
	if it != nil {
		dst = f.Encoder.Append(dst, it)
		f.Over = f.Over || it.Ends
		*it = story.Item{} // an event must not be kept for as long as nothing comes
	}
	return dst
}
