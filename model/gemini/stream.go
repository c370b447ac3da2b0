package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/genai"

	"github.com/braidrun/braid/internal/sse"
)

var (
	errCut      = errors.New("the answer ended before it said why")
	errNoStream = errors.New("the answer is no stream of events")
	// errMalformed is a call that the model could not write.
	errMalformed = errors.New("the model could not write a call")
)

// largestEvent bounds one event of a stream, far above what the API sends.
const largestEvent = 64 << 20

// patience is how long an answer that has said why it ended may keep silent before
// it counts as whole: that is no end signal, more may come behind it.
const patience = 2 * time.Second

// stream reads the events of an answer.
type stream struct {
	decoder

	in io.Reader
	// end ends the call when patience does.
	end func()
}

// run reads until the answer is whole, and hands over what is told at its end. An
// error is what broke it off; left says that the reader of the chunks has gone,
// which is none.
func (s *stream) run() error {
	last := tail{r: s.in}
	err := s.read(&last)
	if s.left {
		return nil
	}
	_, told := errors.AsType[genai.APIError](err)
	whole := s.ended() && !told && !errors.Is(err, errUnreadable) && !isTooLarge(err)
	s.finish(whole && !s.malformed())
	switch {
	case whole && s.malformed():
		return fmt.Errorf("%w: %s", errMalformed, s.message)
	case whole:
		return nil
	case errors.Is(err, io.EOF):
		if said, ok := last.failure(); ok {
			return said
		}
		return errCut
	default:
		return err
	}
}

// read takes events until there are no more.
func (s *stream) read(from io.Reader) error {
	events := sse.NewReader(from, sse.Limits{Line: largestEvent, Event: largestEvent})
	var silence *time.Timer
	defer func() {
		if silence != nil {
			silence.Stop()
		}
	}()
	for !s.left {
		e, err := events.Next()
		if err != nil {
			return err
		}
		if len(e.Data) == 0 {
			continue
		}
		if err := s.event(e.Data); err != nil {
			return err
		}
		switch {
		case silence != nil:
			silence.Reset(patience)
		case s.ended():
			silence = time.AfterFunc(patience, s.end)
		}
	}
	return nil
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*sse.TooLargeError](err)
	return ok
}

// tail keeps the end of what was read: the API may end a stream with an error that
// is no event.
type tail struct {
	r    io.Reader
	kept []byte
}

const keptTail = 4 << 10

// Read implements [io.Reader].
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n >= keptTail {
		t.kept = append(t.kept[:0], p[n-keptTail:n]...)
		return n, err
	}
	if over := len(t.kept) + n - keptTail; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
	}
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// failure is the error that stands at the end: an object, or an array of one,
// which begins where a line does.
func (t *tail) failure() (genai.APIError, bool) {
	at := max(bytes.LastIndex(t.kept, []byte("\n{")), bytes.LastIndex(t.kept, []byte("\n[")))
	rest := bytes.TrimSpace(t.kept[at+1:])
	rest = bytes.TrimPrefix(rest, []byte("["))
	var said struct {
		Error *genai.APIError `json:"error"`
	}
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&said) != nil || said.Error == nil {
		return genai.APIError{}, false
	}
	return *said.Error, true
}
