package agentcore

import (
	"bytes"
	"errors"
	"io"
)

// DefaultLimit is how large one event may be where nothing else was said: 16 MiB. The
// platform allows 10 MB.
const DefaultLimit = 16 << 20

// Reader reads a stream: server-sent events, one JSON value on a line, or a JSON array
// of either, as recordings have it. It goes on after whatever it cannot read. A Reader
// is used by one goroutine at a time.
type Reader struct {
	from  io.Reader
	limit int

	buf        []byte
	begin, end int
	below      error
	started    bool
	array      bool
	// long says that the rest of a line above the limit is being passed over; junk
	// that the line before was nothing that can be read.
	long, junk bool
	// lost says that such a line has ended and was not told of.
	lost bool

	// data are the lines of the event that is not over yet, which are several where that
	// is set; named is its name.
	data    []byte
	hasData bool
	several bool
	named   []byte
	// failed says that what is being read is called "error".
	failed bool
	// rest is what is left of the data that are being read.
	rest []byte
	// found is what a line, or its end, gave by itself.
	found *Item
	// again is a line that is read once more, after the event before it.
	again    []byte
	hasAgain bool

	item    Item
	scratch []byte
	number  int
	state   state
	tools   tools
}

// NewReader reads a stream from r. limit bounds one event in bytes; 0 means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{from: r, limit: limit}
}

// Tools are the calls of the stream so far. The list is the reader's own.
func (r *Reader) Tools() []*ToolUse { return r.tools.all }

// Complete reports whether the run that the stream tells of has come to an end: a
// result, an error, a forced stop, or an answer that asked for no tools. A stream of
// nothing but a program's own texts has no such word: it is complete at its end.
func (r *Reader) Complete() bool { return r.state.over }

// Next gives the next item. At the end it is [io.EOF], before which a stream whose run
// has not ended gives an anomaly. Other errors are those of the reader below; they and
// the end stick.
func (r *Reader) Next() (*Item, error) {
	for {
		for len(r.rest) > 0 {
			if it := r.value(); it != nil {
				return it, nil
			}
		}
		r.found = nil
		if err := r.more(); r.found != nil || err != nil {
			return r.found, err
		}
	}
}

// more gets the next data into rest, or tells of a line that is none.
func (r *Reader) more() error {
	if r.array {
		return r.element()
	}
	line, err := r.nextLine()
	if r.lost {
		r.lost = false
		r.found = r.anomaly(TooLarge, nil)
		return nil
	}
	if err != nil {
		return r.atEnd(err)
	}
	if r.array {
		return nil
	}
	if len(line) == 0 {
		r.junk = false
		if r.hasData {
			r.flush()
		}
		r.named = r.named[:0]
		return nil
	}
	name, value, colon := bytes.Cut(line, []byte{':'})
	if colon {
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			r.junk = false
			if r.hasData {
				if !r.several && whole(r.data) {
					// The blank line between two events is missing.
					r.again, r.hasAgain = append(r.again[:0], line...), true
					r.flush()
					return nil
				}
				r.data, r.several = append(r.data, '\n'), true
			}
			if len(r.data)+len(value) > r.limit {
				r.data, r.hasData, r.several = r.data[:0], false, false
				r.found = r.anomaly(TooLarge, nil)
				return nil
			}
			r.data, r.hasData = append(r.data, value...), true
			return nil
		case "event":
			r.named = append(r.named[:0], value...)
			return nil
		case "", "id", "retry":
			return nil
		}
	}
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return nil
	}
	if c := trimmed[0]; c == '{' || c == '"' || c == '[' {
		r.junk = false
		if r.hasData {
			r.again, r.hasAgain = append(r.again[:0], line...), true
			r.flush()
			return nil
		}
		r.data = append(r.data[:0], trimmed...)
		r.flush()
		return nil
	}
	if r.junk {
		return nil // one page is one anomaly
	}
	r.junk = true
	r.found = r.anomaly(nameOf(trimmed), trimmed)
	return nil
}

// atEnd tells of what was not over when the bytes were.
func (r *Reader) atEnd(end error) error {
	switch {
	case r.hasData:
		r.flush()
	case errors.Is(end, io.EOF) && r.state.plain && !r.state.loop && !r.state.over:
		r.state.over = true // a program that only says texts is done when it says no more
		return end
	case errors.Is(end, io.EOF) && !r.state.over && !r.state.told:
		r.state.told = true
		r.found = r.anomaly(Truncated, nil)
	default:
		return end
	}
	return nil
}

// flush makes the event that has been collected the next to be read.
func (r *Reader) flush() {
	r.rest, r.data, r.hasData, r.several = r.data, r.data[:0], false, false
	r.failed = string(r.named) == "error"
	r.named = r.named[:0]
}

// whole reports whether data is a JSON value and nothing else.
func whole(data []byte) bool {
	s := scanner{b: data}
	s.skip()
	return !s.bad && s.peek() == 0
}

// nameOf tells what a text that is no JSON is.
func nameOf(text []byte) Anomaly {
	switch {
	case isMCPAgentTool(text):
		return MCPAgentTool
	case len(text) > 0 && text[0] == '<':
		return HTML
	default:
		return NotJSON
	}
}

func isMCPAgentTool(text []byte) bool { return bytes.Contains(text, []byte("'MCPAgentTool' object")) }

// keepRaw bounds what an anomaly keeps of what is no JSON.
const keepRaw = 4096

func (r *Reader) fresh() *Item {
	r.number++
	r.item = Item{Number: r.number}
	r.scratch = r.scratch[:0]
	return &r.item
}

func (r *Reader) anomaly(name Anomaly, raw []byte) *Item {
	it := r.fresh()
	it.Kind, it.Anomaly, it.Raw = KindAnomaly, name, raw[:min(len(raw), keepRaw)]
	return it
}

// nextLine gives the next line without its end. A line above the limit is passed over.
func (r *Reader) nextLine() ([]byte, error) {
	if r.hasAgain {
		r.hasAgain = false
		return r.again, nil
	}
	seen := r.begin
	for {
		if !r.started {
			if err := r.start(); err != nil {
				return nil, err
			}
			if r.array {
				return r.buf[:0], nil
			}
			seen = r.begin
		}
		if i := bytes.IndexByte(r.buf[seen:r.end], '\n'); i >= 0 {
			line := r.buf[r.begin : seen+i]
			r.begin = seen + i + 1
			if r.long {
				r.long, r.lost = false, true
				return r.buf[:0], nil
			}
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		seen = r.end
		if r.below != nil {
			line := r.buf[r.begin:r.end]
			r.begin = r.end
			if r.long {
				r.long, r.lost = false, true
				return r.buf[:0], nil
			}
			if len(line) > 0 {
				return bytes.TrimSuffix(line, []byte{'\r'}), nil
			}
			return nil, r.below
		}
		if r.end-r.begin > r.limit+64 {
			// What is too long is told of at its end.
			r.long, r.begin = true, r.end
		}
		moved := r.begin
		r.fill()
		seen -= moved
	}
}

// start passes a byte order mark and white space, and sees whether a JSON array comes.
func (r *Reader) start() error {
	for {
		b := r.buf[r.begin:r.end]
		if len(b) < 3 && r.below == nil {
			r.fill()
			continue
		}
		b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
		b = bytes.TrimLeft(b, " \t\r\n")
		if len(b) == 0 {
			r.begin = r.end
			if r.below != nil {
				r.started = true
				return r.below
			}
			r.fill()
			continue
		}
		r.begin = r.end - len(b)
		r.started, r.array = true, b[0] == '['
		if r.array {
			r.begin++
		}
		return nil
	}
}

// element gets the next element of a JSON array.
func (r *Reader) element() error {
	for {
		s := scanner{b: r.buf[r.begin:r.end]}
		c := s.peek()
		if c == ',' {
			s.at++
			c = s.peek()
		}
		if c == ']' {
			r.begin += s.at + 1
			r.array = false // lines may follow
			return nil
		}
		if c != 0 {
			from := s.at
			raw := s.skip()
			// A word at the end of what there is may go on.
			if !s.bad && (s.at < len(s.b) || r.dry() || c == '"' || c == '{' || c == '[') {
				r.begin += s.at
				r.rest = raw
				if c == '"' {
					r.rest = r.quoted(raw)
				}
				return nil
			}
			if r.end-r.begin > r.limit {
				r.array, r.begin = false, r.end
				r.found = r.anomaly(TooLarge, nil)
				return nil
			}
			if r.dry() {
				r.array, r.begin = false, r.end
				r.found = r.anomaly(nameOf(s.b[from:]), s.b[from:])
				return nil
			}
		} else if r.dry() {
			r.array, r.begin = false, r.end
			return nil
		}
		for have := r.end - r.begin; !r.dry() && r.end-r.begin < 2*have+1; {
			r.fill()
		}
	}
}

// dry reports whether the reader below has given all that it will.
func (r *Reader) dry() bool { return r.below != nil }

// quoted takes a recorded line out of its string: "data: {…}" is what it says.
func (r *Reader) quoted(raw []byte) []byte {
	s := scanner{b: raw}
	r.data = r.data[:0]
	text := s.text(&r.data)
	line, is := bytes.CutPrefix(text, []byte("data:"))
	if !is {
		return raw
	}
	return bytes.TrimSpace(line)
}

// fill reads once, after making room.
func (r *Reader) fill() {
	if r.begin > 0 {
		copy(r.buf, r.buf[r.begin:r.end])
		r.end -= r.begin
		r.begin = 0
	}
	if r.end == len(r.buf) {
		bigger := make([]byte, max(4096, 2*len(r.buf)))
		copy(bigger, r.buf[:r.end])
		r.buf = bigger
	}
	for range 100 { // as in package bufio: a reader that gives nothing for ever is broken
		n, err := r.from.Read(r.buf[r.end:])
		r.end += max(n, 0)
		r.below = err
		if n > 0 || err != nil {
			return
		}
	}
	r.below = io.ErrNoProgress
}
