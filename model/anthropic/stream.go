package anthropic

import (
	"errors"
	"io"

	"github.com/braidrun/braid/internal/sse"
)

var (
	errCut        = errors.New("the answer ended before its end signal")
	errTooLong    = errors.New("an event of the answer is too long")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// longest bounds an event of a stream, far above what the API sends.
const longest = 32 << 20

// events returns the data of the answer's events, one per call. The data is valid until
// the next call. io.EOF is the end of the connection.
type events interface {
	next() ([]byte, error)
}

// lines reads server-sent events. It ignores their names, which the data repeats.
type lines struct{ *sse.Reader }

func newLines(in io.Reader) lines {
	return lines{sse.NewReader(in, sse.Limits{Line: longest, Event: longest})}
}

func (l lines) next() ([]byte, error) {
	for {
		e, err := l.Next()
		if _, long := errors.AsType[*sse.TooLargeError](err); long {
			return nil, errTooLong
		}
		if err != nil {
			return nil, err
		}
		if len(e.Data) > 0 {
			return e.Data, nil
		}
	}
}
