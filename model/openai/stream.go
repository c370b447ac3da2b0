package openai

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/internal/stall"
)

var (
	errCut        = errors.New("the answer ended before its end signal")
	errTooLong    = errors.New("an event of the answer is too long")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// maxLine bounds one line of a stream, far above what a server sends.
const maxLine = 32 << 20

// events makes chunks of the events of an answer.
type events interface {
	// event takes the data of one event.
	event(data []byte) error
	sender() *sender
}

// sender hands chunks over.
type sender struct {
	// names maps names of tools that were changed for the wire back.
	names map[string]string
	yield func(braid.Chunk, error) bool
	// done is set by the end signal, left when nobody reads on.
	done, left bool
}

func (s *sender) send(c braid.Chunk) {
	if !s.left && !s.yield(c, nil) {
		s.left = true
	}
}

// tool is the agent's name of a tool.
func (s *sender) tool(name string) string {
	if own, ok := s.names[name]; ok {
		return own
	}
	return name
}

// stream reads server-sent events. It cuts lines itself, in one buffer that is
// used for the whole answer: nothing is allocated for an event.
type stream struct {
	events

	in io.Reader

	buf        []byte
	from, scan int    // the line begins at from and has no break before scan
	data       []byte // of the event so far, where it has several lines
	lines      int
	one        []byte // of an event of one line: a part of buf
}

// run reads until the answer is whole. An error is what broke it off; where the
// reader of the chunks has gone, there is none.
func (s *stream) run() error {
	s.buf = make([]byte, 0, 16<<10)
	for to := s.sender(); !to.done && !to.left; {
		line, ok := s.line()
		if !ok {
			if err := s.fill(); err != nil {
				return err
			}
			continue
		}
		if err := s.take(line); err != nil {
			return err
		}
	}
	return nil
}

// line gives the next whole line without its end.
func (s *stream) line() ([]byte, bool) {
	i := bytes.IndexByte(s.buf[s.scan:], '\n')
	if i < 0 {
		s.scan = len(s.buf)
		return nil, false
	}
	line := s.buf[s.from : s.scan+i]
	s.scan += i + 1
	s.from = s.scan
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, true
}

// fill reads more. What has been read goes away only here, so that parts of it
// stay valid until then; the one that does not end there is kept.
func (s *stream) fill() error {
	if s.lines == 1 && s.one != nil {
		s.data, s.one = append(s.data[:0], s.one...), nil
	}
	if s.from > 0 {
		n := copy(s.buf, s.buf[s.from:])
		s.buf, s.scan, s.from = s.buf[:n], s.scan-s.from, 0
	}
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= maxLine {
			return errTooLong
		}
		s.buf = append(s.buf, 0)[:len(s.buf)]
	}
	n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	switch {
	case n > 0:
		return nil // an error comes again
	case errors.Is(err, io.EOF):
		return errCut
	default:
		return err
	}
}

var dataField = []byte("data:")

// take adds a line to the event; an empty one ends it. Names of events are not
// looked at: what is in the data says the same.
func (s *stream) take(line []byte) error {
	if len(line) == 0 {
		data := s.one
		if data == nil {
			data = s.data
		}
		had := s.lines > 0
		s.lines, s.one, s.data = 0, nil, s.data[:0]
		if !had || len(data) == 0 {
			return nil
		}
		return s.event(data)
	}
	data, ok := bytes.CutPrefix(line, dataField)
	if !ok {
		return nil
	}
	if len(data) > 0 && data[0] == ' ' {
		data = data[1:]
	}
	switch s.lines++; {
	case s.lines == 1:
		s.one = data
	case s.one != nil:
		s.data = append(append(append(s.data[:0], s.one...), '\n'), data...)
		s.one = nil
	default:
		s.data = append(append(s.data, '\n'), data...)
	}
	if len(s.data) > maxLine {
		return errTooLong
	}
	return nil
}

// drain reads the end of a whole answer, which is on its way, so that the
// connection can be used again.
func (s *stream) drain(g *stall.Guard) {
	t := time.AfterFunc(20*time.Millisecond, g.Cancel)
	defer t.Stop()
	for range 8 {
		if _, err := s.in.Read(s.buf[:cap(s.buf)]); err != nil {
			return
		}
	}
}
