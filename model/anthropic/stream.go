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

// events gives the data of one event of an answer after another; it is good until
// the next one is asked for. io.EOF is the end of the connection.
type events interface {
	next() ([]byte, error)
}

// run reads until the answer is whole. An error is what broke it off; left says
// that the reader of the chunks has gone, which is none.
func (d *decoder) run(from events) error {
	for !d.done && !d.left {
		data, err := from.next()
		if errors.Is(err, io.EOF) {
			return errCut
		}
		if err != nil {
			return err
		}
		if err := d.event(data); err != nil {
			return err
		}
	}
	return nil
}

// lines reads server-sent events. Their names are not looked at: what is in the
// data says the same.
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
