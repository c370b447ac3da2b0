// Package logrow is how stores on a database keep the events of a commit in one row.
package logrow

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/braidrun/braid/event"
)

// Events that are committed together stand in one row, as a JSON text sequence
// (RFC 7464): each text has a record separator before it and a line feed
// after it. JSON cannot contain that separator, so the sequence is cut apart without
// being read, and it is lines to whoever looks.
const separator = 0x1e

// Pack writes events into one value.
func Pack(events []*event.Event) ([]byte, error) {
	return sequence(len(events), func(dst []byte, i int) ([]byte, error) { return event.AppendJSON(dst, events[i]) })
}

// PackMessages writes messages the same way; none are nil.
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

// texts cuts a sequence apart.
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
			return errNoSequence // what comes last was cut off
		}
		if err := yield(data[1 : end-1]); err != nil {
			return err
		}
		data = data[end:]
	}
	return nil
}

// erased begins what is left of messages that a redaction has erased: their sum.
const erased = 0x00

// Erased gives what is kept of packed messages that are erased. What is erased stays so.
func Erased(packed []byte) []byte {
	if len(packed) == 0 || packed[0] == erased {
		return packed
	}
	sum := sha256.Sum256(packed)
	return append([]byte{erased}, sum[:]...)
}

// Same reports whether stored messages, which may be erased by now, were these.
func Same(stored, packed []byte) bool {
	if len(stored) > 0 && stored[0] == erased {
		packed = Erased(packed)
	}
	return bytes.Equal(stored, packed)
}

// Rewrite gives a row with another event in the place of one, and leaves the others byte for byte.
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

// UnpackMessages reads what [PackMessages] wrote; of what is erased there are none.
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

// Reader reads the rows of one conversation's log in order, and sees to it that
// together they are a log: dense, and of that conversation. It is used by one goroutine.
type Reader struct {
	Conversation string
	// After is the Seq that the reader has already, Max the most that it wants; 0 is all.
	After int64
	Max   int
	// Events are those that were read, Next is the Seq that comes next; 0 is any.
	Events []*event.Event
	Next   int64

	decoder event.Decoder
}

// Full reports whether the reader has as many events as it wants.
func (r *Reader) Full() bool { return r.Max > 0 && len(r.Events) >= r.Max }

// Row takes in one row, which has the events from first to last.
func (r *Reader) Row(first, last int64, data []byte) error {
	if r.Next > 0 && first != r.Next || last < first {
		return fmt.Errorf("events %d to %d stand where %d should", first, last, r.Next)
	}
	seq := first
	slab := make([]event.Event, 0, max(0, min(last-first+1, last-r.After, int64(len(data)))))
	err := texts(data, func(text []byte) error {
		if seq > last {
			return fmt.Errorf("there are more events than %d to %d", first, last)
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
			return fmt.Errorf("event %d is not what stands there", seq-1)
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
