package anthropic

import (
	"errors"
	"io"

	"github.com/braidrun/braid/internal/sse"
)

var (
	errCut     = errors.New("the answer ended before its end signal")
	errTooLong = errors.New("an event of the answer is too long")
)

// longest bounds an event of a stream, far above what the API sends.
const longest = 32 << 20

// stream reads an answer.
type stream struct {
	decoder

	in io.Reader
}

// run reads until the answer is whole. An error is what broke it off; left says
// that the reader of the chunks has gone, which is none. Names of events are not
// looked at: what is in the data says the same.
func (s *stream) run() error {
	r := sse.NewReader(s.in, sse.Limits{Line: longest, Event: longest})
	for !s.done && !s.left {
		e, err := r.Next()
		if _, long := errors.AsType[*sse.TooLargeError](err); long {
			return errTooLong
		}
		switch {
		case errors.Is(err, io.EOF):
			return errCut
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
