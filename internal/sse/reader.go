package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is a dispatched event.
type Event struct {
	// ID is the last id that the stream has sent, in this event or an earlier one; "" if there
	// is none yet.
	ID string
	// Fresh reports whether this event carried an id itself.
	Fresh bool
	// Name is the event's name; "message" if the stream sent none.
	Name string
	// Data holds the event's lines, joined by LF. It is valid until the next call of Next.
	Data []byte
}

// Limits bound what a [Reader] keeps of one line and of one event's data, in
// bytes; 0 means [DefaultLimit].
type Limits struct {
	Line  int
	Event int
}

// DefaultLimit is the default maximum of a line and of an event's data: 16 MiB.
const DefaultLimit = 16 << 20

// TooLargeError reports that the stream exceeded a limit.
type TooLargeError struct {
	// What is "line" or "event".
	What string
	// Limit is the exceeded limit in bytes.
	Limit int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("server-sent events: the %s is longer than %d bytes", e.What, e.Limit)
}

// Reader reads events. It is not safe for concurrent use.
type Reader struct {
	from   io.Reader
	limits Limits

	buf []byte
	// begin and end delimit the unread part of buf. The search for the next line end continues
	// at seen.
	begin, seen, end int
	// started is set after the first line, which may begin with a BOM. afterCR means that a
	// following LF belongs to the previous line end.
	started, afterCR bool
	// below is the error of the underlying reader, which Next returns after the remaining data.
	// err is the error that sticks.
	below, err error

	id, name []byte
	last     string
	named    string
	// data holds the event's data so far. A single line stays in line, a part of buf, and is
	// copied only if buf is filled before the event ends.
	data     []byte
	one      []byte
	hasData  bool
	fresh    bool
	retry    time.Duration
	hasRetry bool
}

// NewReader returns a reader of the events of r.
func NewReader(r io.Reader, limits Limits) *Reader {
	if limits.Line <= 0 {
		limits.Line = DefaultLimit
	}
	if limits.Event <= 0 {
		limits.Event = DefaultLimit
	}
	return &Reader{from: r, limits: limits}
}

// LastID returns the id to resume from: the id of the last complete event, or of an event without
// data after it.
func (r *Reader) LastID() string { return r.last }

// Retry returns the reconnection delay that the server asked for, and whether it asked for one.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// Next returns the next event. At the end it returns [io.EOF] and drops an event that was not
// closed, with its id. Other errors are a [*TooLargeError] and those of the underlying reader.
// After an error every call returns that error.
func (r *Reader) Next() (Event, error) {
	r.data, r.one, r.hasData, r.fresh = r.data[:0], nil, false, false
	r.name = r.name[:0]
	for r.err == nil {
		line, err := r.line()
		if err == nil && len(line) > 0 {
			err = r.field(line)
		}
		if err != nil {
			r.err = err
			break
		}
		if len(line) > 0 {
			continue
		}
		if r.fresh && string(r.id) != r.last {
			r.last = string(r.id)
		}
		if !r.hasData {
			r.name, r.fresh = r.name[:0], false
			continue
		}
		e := Event{ID: r.last, Fresh: r.fresh, Name: "message", Data: r.data}
		if r.one != nil {
			e.Data = r.one
		}
		if len(r.name) > 0 {
			if string(r.name) != r.named {
				r.named = string(r.name) // most events have the previous event's name
			}
			e.Name = r.named
		}
		return e, nil
	}
	return Event{}, r.err
}

// keep copies the event's only line out of the buffer.
func (r *Reader) keep() {
	if r.one != nil {
		r.data, r.one = append(r.data, r.one...), nil
	}
}

// field processes a line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if !r.hasData && len(value) <= r.limits.Event {
			r.one, r.hasData = value, true
			return nil
		}
		r.keep()
		size := len(r.data) + len(value)
		if r.hasData {
			size++
		}
		if size > r.limits.Event {
			return &TooLargeError{What: "event", Limit: r.limits.Event}
		}
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	case "event":
		r.name = append(r.name[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id, r.fresh = append(r.id[:0], value...), true
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			r.retry, r.hasRetry = time.Duration(n)*time.Millisecond, true
		}
	}
	return nil // the name of a comment is empty; the standard ignores unknown fields
}

var bom = []byte("\xEF\xBB\xBF")

// line returns the next line without its end, valid until the next call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.afterCR && r.begin < r.end {
			r.afterCR = false
			if r.buf[r.begin] == '\n' {
				r.begin++
				r.seen = r.begin
			}
		}
		if i := indexEnd(r.buf[r.seen:r.end]); i >= 0 {
			i += r.seen
			line := r.buf[r.begin:i]
			r.afterCR = r.buf[i] == '\r'
			r.begin = i + 1
			r.seen = r.begin
			if !r.started {
				r.started = true
				line = bytes.TrimPrefix(line, bom)
			}
			if len(line) > r.limits.Line {
				return nil, &TooLargeError{What: "line", Limit: r.limits.Line}
			}
			return line, nil
		}
		r.seen = r.end
		if r.end-r.begin > r.limits.Line+len(bom) {
			return nil, &TooLargeError{What: "line", Limit: r.limits.Line}
		}
		if r.below != nil {
			return nil, r.below
		}
		r.fill()
	}
}

// indexEnd returns the index of the first CR or LF, -1 if there is none.
func indexEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill makes room and reads once.
func (r *Reader) fill() {
	r.keep()
	if r.begin > 0 {
		copy(r.buf, r.buf[r.begin:r.end])
		r.end -= r.begin
		r.seen -= r.begin
		r.begin = 0
	}
	if r.end == len(r.buf) {
		bigger := make([]byte, max(4096, 2*len(r.buf)))
		copy(bigger, r.buf[:r.end])
		r.buf = bigger
	}
	for range 100 { // as in package bufio: give up on a reader that never returns data
		n, err := r.from.Read(r.buf[r.end:])
		if n < 0 || n > len(r.buf)-r.end {
			err, n = errors.New("server-sent events: the reader below counted wrong"), 0
		}
		r.end += n
		r.below = err
		if n > 0 || err != nil {
			return
		}
	}
	r.below = io.ErrNoProgress
}
