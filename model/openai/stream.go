package openai

import (
	"errors"
	"io"

	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/model"
)

var (
	errCut        = errors.New("the answer ended before its end signal")
	errTooLong    = errors.New("an event of the answer is too long")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// longest bounds an event of a stream, far above what a server sends.
const longest = 32 << 20

// events makes chunks of the events of an answer.
type events interface {
	// event takes the data of one event.
	event(data []byte) error
	// ended takes the proper end of the body. The answer is whole or the error is [errCut].
	ended() error
	// all takes an answer that came at once, and not as a stream.
	all(data []byte) error
	sender() *sender
}

// sender hands chunks over.
type sender struct {
	// names maps names of tools that were changed for the wire back.
	names map[string]string
	yield func(model.Chunk, error) bool
	// absent takes nulls out of texts that stand for what is missing; nil takes none.
	absent *filter
	// arguments does the same for those of strict tools.
	arguments arguments
	// done is set by the end signal, left when nobody reads on.
	done, left bool
}

func (s *sender) send(c model.Chunk) {
	if !s.arguments.take(&c, s.pass) {
		return
	}
	if s.absent != nil {
		switch c.Kind {
		case model.ChunkText:
			if c.Text = s.absent.text(c.Index, c.Text); c.Text == "" {
				return
			}
		case model.ChunkStop:
			s.absent.end(s.pass)
		default:
		}
	}
	s.pass(c)
}

func (s *sender) pass(c model.Chunk) {
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

// stream reads an answer.
type stream struct {
	events

	in io.Reader
}

// run reads until the answer is whole. An error is what broke it off; where the
// reader of the chunks has gone, there is none. Names of events are not looked
// at: what is in the data says the same.
func (s *stream) run() error {
	r := sse.NewReader(s.in, sse.Limits{Line: longest, Event: longest})
	for to := s.sender(); !to.done && !to.left; {
		e, err := r.Next()
		if _, long := errors.AsType[*sse.TooLargeError](err); long {
			return errTooLong
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.ended()
		case err != nil:
			return err
		case len(e.Data) == 0:
			continue
		}
		if err := s.event(e.Data); err != nil {
			return err
		}
	}
	return nil
}
