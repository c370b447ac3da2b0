package agentcore

import (
	"bytes"
	"errors"
	"io"
)

// DefaultLimit is the default maximum size of one event: 16 MiB. The platform allows 10 MB.
const DefaultLimit = 16 << 20

// Reader reads a stream of server-sent events, of one JSON value per line, or of a recorded JSON
// array of either. It continues after unreadable input. It is not safe for concurrent use.
type Reader struct {
	from  io.Reader
	limit int

	buf        []byte
	begin, end int
	below      error
	started    bool
	array      bool
	// long is set while the rest of a line above the limit is skipped.
	long bool
	// junk is set if the previous line was unreadable.
	junk bool
	// lost is set once such a line has ended, until it is reported.
	lost bool

	// data holds the lines of the incomplete event; several is set if there is more than one.
	data    []byte
	hasData bool
	several bool
	// named is the name of the incomplete event.
	named []byte
	// failed is set if the current event is named "error".
	failed bool
	// rest is the unread part of the current data.
	rest []byte
	// found is an item that a line, or the end, produced without data.
	found *Item
	// again is a line to read once more, after the event before it.
	again    []byte
	hasAgain bool

	item    Item
	scratch []byte
	number  int
	state   state
	tools   tools
}

// NewReader returns a reader of the stream r. limit is the maximum size of one event in bytes; 0
// means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{from: r, limit: limit}
}

// Tools returns the calls of the stream so far. The list belongs to the reader.
func (r *Reader) Tools() []*ToolUse { return r.tools.all }

// Complete reports whether the stream's run has ended: with a result, an error, a forced stop, or
// an answer that asked for no tools. A stream that holds only a program's own texts is complete
// at its end.
func (r *Reader) Complete() bool { return r.state.over }

// Next returns the next item. At the end it returns [io.EOF]; if the run has not ended, it first
// returns an anomaly. Other errors are those of the underlying reader. Every later call returns
// the same error.
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

// more reads the next data into rest, or reports an unreadable line.
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
		return nil // a page counts as one anomaly
	}
	r.junk = true
	r.found = r.anomaly(nameOf(trimmed), trimmed)
	return nil
}

// atEnd reports what was incomplete at the end of the input.
func (r *Reader) atEnd(end error) error {
	switch {
	case r.hasData:
		r.flush()
	case errors.Is(end, io.EOF) && r.state.plain && !r.state.loop && !r.state.over:
		r.state.over = true // a program that only sends texts has no explicit end
		return end
	case errors.Is(end, io.EOF) && !r.state.over && !r.state.told:
		r.state.told = true
		r.found = r.anomaly(Truncated, nil)
	default:
		return end
	}
	return nil
}

// flush makes the collected event the next one to read.
func (r *Reader) flush() {
	r.rest, r.data, r.hasData, r.several = r.data, r.data[:0], false, false
	r.failed = string(r.named) == "error"
	r.named = r.named[:0]
}

// whole reports whether data is exactly one JSON value.
func whole(data []byte) bool {
	s := scanner{b: data}
	s.skip()
	return !s.bad && s.peek() == 0
}

// nameOf names the defect of a text that is not JSON.
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

// keepRaw is the maximum length that an anomaly keeps of its input.
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

// nextLine returns the next line without its end. It skips a line above the limit.
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
			// The end of the line reports it.
			r.long, r.begin = true, r.end
		}
		moved := r.begin
		r.fill()
		seen -= moved
	}
}

// start skips a byte order mark and white space, and detects a JSON array.
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

// element reads the next element of a JSON array.
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
			// A word at the end of the buffer may continue.
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

// dry reports whether the underlying reader has returned all its data.
func (r *Reader) dry() bool { return r.below != nil }

// quoted unwraps a recorded line such as "data: {…}" from its JSON string.
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

// fill makes room and reads once.
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
	for range 100 { // as in package bufio: give up on a reader that never returns data
		n, err := r.from.Read(r.buf[r.end:])
		r.end += max(n, 0)
		r.below = err
		if n > 0 || err != nil {
			return
		}
	}
	r.below = io.ErrNoProgress
}
