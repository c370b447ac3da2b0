package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is one event as it was dispatched.
type Event struct {
	// ID is the last id that was sent, in this event or one before it; "" where
	// there was none yet.
	ID string
	// Fresh says that the event itself carried an id.
	Fresh bool
	// Name is the event's name, "message" where none was sent.
	Name string
	// Data are the event's lines with LF between them. They are good until
	// the next call of Next.
	Data []byte
}

// Limits bound what a [Reader] keeps of one line and of one event's data, in
// bytes; 0 means [DefaultLimit].
type Limits struct {
	Line  int
	Event int
}

// DefaultLimit is how long a line, and the data of an event, may be where nothing
// else was said: 16 MiB.
const DefaultLimit = 16 << 20

// TooLargeError says that the other side sent more than a limit.
type TooLargeError struct {
	// What is "line" or "event"; Limit is in bytes.
	What  string
	Limit int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("server-sent events: the %s is longer than %d bytes", e.What, e.Limit)
}

// Reader reads events. It is used by one goroutine at a time.
type Reader struct {
	from   io.Reader
	limits Limits

	buf []byte
	// begin and end are what of buf has not been used; seen is where the search
	// for the end of the line goes on.
	begin, seen, end int
	// started is set after the first line, before which a BOM may stand; afterCR
	// means that an LF belongs to the line before.
	started, afterCR bool
	// below is the error of the reader below, which comes after what it gave;
	// err is the one that sticks.
	below, err error

	id, name []byte
	last     string
	named    string
	// data are the event's so far. Where they are one line, it is line, a part of
	// buf, and not copied unless buf is filled before the event ends.
	data     []byte
	one      []byte
	hasData  bool
	fresh    bool
	retry    time.Duration
	hasRetry bool
}

// NewReader reads events from r.
func NewReader(r io.Reader, limits Limits) *Reader {
	if limits.Line <= 0 {
		limits.Line = DefaultLimit
	}
	if limits.Event <= 0 {
		limits.Event = DefaultLimit
	}
	return &Reader{from: r, limits: limits}
}

// LastID is the id to go on from: that of the last event that came whole, or of
// an event without data after it.
func (r *Reader) LastID() string { return r.last }

// Retry is how long the other side asked to wait before connecting again, and
// whether it did.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// Next gives the next event. At the end it is [io.EOF]; an event that is not
// closed by then is dropped, with its id. Other errors are a [*TooLargeError] and
// those of the reader below. An error sticks.
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
				r.named = string(r.name) // most events are called as the one before
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

// field takes a line that is not empty.
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
	return nil // a comment's name is empty, and other names mean nothing
}

var bom = []byte("\xEF\xBB\xBF")

// line gives the next line without its end. It is good until the next call.
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

// indexEnd finds the first CR or LF.
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

// fill reads once, after making room.
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
	for range 100 { // as in package bufio: a reader that gives nothing for ever is broken
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
