// Package logrow packs the events of a commit into one row of a SQL store.
package logrow

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/braidrun/braid/event"
)

// The events of a commit share a row as a JSON text sequence (RFC 7464): a record separator
// before each text and a line feed after it. JSON cannot contain the separator, so the sequence
// can be split without parsing it. Other tools see lines.
const separator = 0x1e

// Pack encodes events as one value.
func Pack(events []*event.Event) ([]byte, error) {
	return sequence(len(events), func(dst []byte, i int) ([]byte, error) { return event.AppendJSON(dst, events[i]) })
}

// PackMessages encodes messages in the same form; it returns nil for no messages.
func PackMessages(messages []event.Message) ([]byte, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	return sequence(len(messages), func(dst []byte, i int) ([]byte, error) { return event.AppendMessage(dst, messages[i]) })
}

func sequence(n int, add func(dst []byte, i int) ([]byte, error)) ([]byte, error) {
	dst := make([]byte, 0, 512*n)
	for i := range n {
		var err error
		if dst, err = add(append(dst, separator), i); err != nil {
			return nil, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

var errNoSequence = errors.New("not a JSON text sequence")

// texts splits a sequence.
func texts(data []byte, yield func(text []byte) error) error {
	for len(data) > 0 {
		if data[0] != separator {
			return errNoSequence
		}
		end := bytes.IndexByte(data[1:], separator) + 1
		if end == 0 {
			end = len(data)
		}
		if data[end-1] != '\n' {
			return errNoSequence // the last text is truncated
		}
		if err := yield(data[1 : end-1]); err != nil {
			return err
		}
		data = data[end:]
	}
	return nil
}

// erased is the first byte of redacted messages. Their hash follows.
const erased = 0x00

// Erased returns what remains of packed messages after a redaction. Erasing twice changes
// nothing.
func Erased(packed []byte) []byte {
	if len(packed) == 0 || packed[0] == erased {
		return packed
	}
	sum := sha256.Sum256(packed)
	return append([]byte{erased}, sum[:]...)
}

// Same reports whether stored holds the messages of packed. It also works after stored was
// erased.
func Same(stored, packed []byte) bool {
	if len(stored) > 0 && stored[0] == erased {
		packed = Erased(packed)
	}
	return bytes.Equal(stored, packed)
}

// Rewrite returns a row in which change has replaced event seq. The other events stay byte for
// byte. first is the Seq of the row's first event.
func Rewrite(first, seq int64, data []byte, change func(*event.Event) *event.Event) ([]byte, error) {
	var decoder event.Decoder
	out := make([]byte, 0, len(data))
	err := texts(data, func(text []byte) error {
		out = append(out, separator)
		if first++; first-1 != seq {
			out = append(append(out, text...), '\n')
			return nil
		}
		e, err := decoder.Decode(text)
		if err != nil {
			return err
		}
		if out, err = event.AppendJSON(out, change(&e)); err != nil {
			return err
		}
		out = append(out, '\n')
		return nil
	})
	return out, err
}

// UnpackMessages decodes what [PackMessages] wrote; it returns nil for erased messages.
func UnpackMessages(data []byte) ([]event.Message, error) {
	if len(data) > 0 && data[0] == erased {
		return nil, nil
	}
	var messages []event.Message
	err := texts(data, func(text []byte) error {
		m, err := event.DecodeMessage(text)
		messages = append(messages, m)
		return err
	})
	return messages, err
}

// Reader reads the rows of one conversation's log in order. It checks that the events are
// consecutive and belong to the conversation. It is not safe for concurrent use.
type Reader struct {
	Conversation string
	// After is the Seq of the last event that the caller has already.
	After int64
	// Max is the maximum number of events to read; 0 is no limit.
	Max int
	// Events holds the events read so far.
	Events []*event.Event
	// Next is the Seq of the next event; 0 means that any may come first.
	Next int64

	decoder event.Decoder
}

// Full reports whether the reader has read Max events.
func (r *Reader) Full() bool { return r.Max > 0 && len(r.Events) >= r.Max }

// Row reads a row that holds the events first to last, and appends those after After to Events.
func (r *Reader) Row(first, last int64, data []byte) error {
	if r.Next > 0 && first != r.Next || last < first {
		return fmt.Errorf("found events %d to %d where %d should follow", first, last, r.Next)
	}
	seq := first
	slab := make([]event.Event, 0, max(0, min(last-first+1, last-r.After, int64(len(data)))))
	err := texts(data, func(text []byte) error {
		if seq > last {
			return fmt.Errorf("the row holds more events than %d to %d", first, last)
		}
		seq++
		if seq-1 <= r.After || r.Full() {
			return nil
		}
		e, err := r.decoder.Decode(text)
		if err != nil {
			return fmt.Errorf("event %d: %w", seq-1, err)
		}
		if e.Seq != seq-1 || e.Conversation != r.Conversation {
			return fmt.Errorf("the row holds another event in the place of %d", seq-1)
		}
		slab = append(slab, e)
		r.Events = append(r.Events, &slab[len(slab)-1])
		return nil
	})
	if err != nil {
		return err
	}
	if seq != last+1 {
		return fmt.Errorf("events after %d are missing", seq-1)
	}
	r.Next = seq
	return nil
}
