package postgres

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/braidrun/braid/event"
)

// Events that are committed together stand in one row, as a JSON text sequence
// (RFC 7464): each text has a record separator before it and a line feed
// after it. JSON cannot contain that separator, so the sequence is cut apart without
// being read, and it is lines to whoever looks.
const separator = 0x1e

// pack writes events into one value.
func pack(events []*event.Event) ([]byte, error) {
	return sequence(len(events), func(dst []byte, i int) ([]byte, error) { return event.AppendJSON(dst, events[i]) })
}

// packMessages writes messages the same way; none are nil.
func packMessages(messages []event.Message) ([]byte, error) {
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

func unpackMessages(data []byte) ([]event.Message, error) {
	var messages []event.Message
	err := texts(data, func(text []byte) error {
		m, err := event.DecodeMessage(text)
		messages = append(messages, m)
		return err
	})
	return messages, err
}

// unpacker reads the rows of one conversation's log in order, and sees to it
// that together they are a log: dense, and of that conversation.
type unpacker struct {
	conversation string
	decoder      event.Decoder
	events       []*event.Event
	// next is the Seq that comes next; 0 is any.
	next int64
	// after is the Seq that the reader has already, max the most that it wants; 0 is all.
	after int64
	max   int
}

// full reports whether the reader has as many events as it wants.
func (u *unpacker) full() bool { return u.max > 0 && len(u.events) >= u.max }

// row takes in one row.
func (u *unpacker) row(first, last int64, data []byte) error {
	if u.next > 0 && first != u.next || last < first {
		return fmt.Errorf("events %d to %d stand where %d should", first, last, u.next)
	}
	seq := first
	slab := make([]event.Event, 0, max(0, min(last-first+1, last-u.after, int64(len(data)))))
	err := texts(data, func(text []byte) error {
		if seq > last {
			return fmt.Errorf("there are more events than %d to %d", first, last)
		}
		seq++
		if seq-1 <= u.after || u.full() {
			return nil
		}
		e, err := u.decoder.Decode(text)
		if err != nil {
			return fmt.Errorf("event %d: %w", seq-1, err)
		}
		if e.Seq != seq-1 || e.Conversation != u.conversation {
			return fmt.Errorf("event %d is not what stands there", seq-1)
		}
		slab = append(slab, e)
		u.events = append(u.events, &slab[len(slab)-1])
		return nil
	})
	if err != nil {
		return err
	}
	if seq != last+1 {
		return fmt.Errorf("events after %d are missing", seq-1)
	}
	u.next = seq
	return nil
}
