package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/genai"

	"github.com/braidrun/braid/internal/sse"
)

var (
	errCut      = errors.New("the answer ended before it said why")
	errNoStream = errors.New("the answer is no stream of events")
)

// largestEvent bounds one event of a stream, far above what the API sends.
const largestEvent = 64 << 20

// patience is how long the end of a stream may take once the answer has said why
// it ended: that is no end signal, more may come behind it.
const patience = 2 * time.Second

// stream reads the events of an answer.
type stream struct {
	decoder

	in io.Reader
	// end ends the call when patience does.
	end func()
}

// run reads until the answer is whole. An error is what broke it off; left says
// that the reader of the chunks has gone, which is none. What the answer has told
// about itself by then is handed over in any case.
func (s *stream) run() error {
	last := tail{r: s.in}
	events := sse.NewReader(&last, sse.Limits{Line: largestEvent, Event: largestEvent})
	var timer *time.Timer
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	err := error(nil)
	for !s.left && err == nil {
		var e sse.Event
		if e, err = events.Next(); err != nil {
			break
		}
		if len(e.Data) == 0 {
			continue
		}
		if err = s.event(e.Data); err == nil && timer == nil && s.ended() {
			timer = time.AfterFunc(patience, s.end)
		}
	}
	if s.left {
		return nil
	}
	if told, ok := errors.AsType[genai.APIError](err); ok {
		s.finish(false)
		return told
	}
	if errors.Is(err, errUnreadable) || isTooLarge(err) {
		s.finish(false)
		return err
	}
	if s.ended() {
		s.finish(true)
		return nil
	}
	s.finish(false)
	if errors.Is(err, io.EOF) {
		if told, ok := last.failure(); ok {
			return told
		}
		return errCut
	}
	return err
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

// failure is the error that stands at the end, an object or an array of one.
func (t *tail) failure() (genai.APIError, bool) {
	rest := t.kept
	for {
		at := bytes.Index(rest, []byte("\n{"))
		if bytes.HasPrefix(rest, []byte("{")) {
			at = -1
		}
		if at >= 0 {
			rest = rest[at+1:]
		}
		var said struct {
			Error *genai.APIError `json:"error"`
		}
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&said) == nil && said.Error != nil {
			return *said.Error, true
		}
		next := bytes.IndexByte(rest, '\n')
		if next < 0 {
			return genai.APIError{}, false
		}
		rest = rest[next:]
		if !bytes.Contains(rest, []byte("\n{")) {
			return genai.APIError{}, false
		}
	}
}
