package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/model/internal/provider"
)

// largestEvent bounds one event of a stream, far above what the API sends.
const largestEvent = 64 << 20

// patience bounds the wait for more events after the finish reason. The finish reason is not an
// end signal: more events may follow it.
const patience = 2 * time.Second

// stream reads the events of an answer.
type stream struct {
	decoder

	in io.Reader
	// end ends the call after patience.
	end func()
}

// run reads until the answer is complete, yields its end, and returns the error that cut it. If
// the caller stopped reading chunks, left is set and run returns nil.
func (s *stream) run() error {
	last := tail{r: s.in}
	err := s.read(&last)
	if s.left {
		return nil
	}
	_, told := errors.AsType[*wireError](err)
	whole := s.ended() && !told && !errors.Is(err, errUnreadable) && !tooLarge(err)
	s.finish(whole && !s.malformed())
	switch {
	case whole && s.malformed():
		return fmt.Errorf("%w: %s", errMalformed, s.message)
	case whole:
		return nil
	case errors.Is(err, io.EOF):
		if said := last.failure(); said != nil {
			return said
		}
		return errCut
	default:
		return err
	}
}

// read decodes events until the stream ends.
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

// tooLarge reports whether an answer or an event exceeded its bound.
func tooLarge(err error) bool {
	_, ok := errors.AsType[*sse.TooLargeError](err)
	return ok || errors.Is(err, provider.ErrTooLong)
}

// tail keeps the end of the data read, because the API may end a stream with an error that is
// not an event.
type tail struct {
	r    io.Reader
	kept []byte
	// read counts bytes.
	read int64
}

const (
	keptTail = 4 << 10
	// largestAnswer bounds a whole stream, far above what the API sends.
	largestAnswer = 1 << 30
)

// Read implements [io.Reader].
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.read += int64(n); t.read > largestAnswer {
		return 0, provider.ErrTooLong
	}
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

// failure returns the error at the end of the data: an object, or an array of one, at the
// beginning of a line. It returns nil if there is none.
func (t *tail) failure() *wireError {
	at := max(bytes.LastIndex(t.kept, []byte("\n{")), bytes.LastIndex(t.kept, []byte("\n[")))
	return errorIn(t.kept[at+1:])
}

// unstreamed turns an answer without streaming into events: one response, or an array of them.
// It refuses values without any member of a response.
func unstreamed(body []byte) (io.Reader, error) {
	var all []json.RawMessage
	switch body = bytes.TrimSpace(body); {
	case len(body) > 0 && body[0] == '{':
		all = []json.RawMessage{body}
		if !json.Valid(body) {
			return nil, errUnreadable
		}
	case len(body) > 0 && body[0] == '[':
		if json.Unmarshal(body, &all) != nil {
			return nil, errUnreadable
		}
	default:
		return nil, errNoStream
	}
	var b bytes.Buffer
	ours := false
	for _, raw := range all {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil, errNoStream
		}
		for _, name := range []string{"candidates", "promptFeedback", "usageMetadata", "error"} {
			ours = ours || members[name] != nil
		}
		b.WriteString("data: ")
		if err := json.Compact(&b, raw); err != nil {
			return nil, errUnreadable
		}
		b.WriteString("\n\n")
	}
	if !ours {
		return nil, errNoStream
	}
	return &b, nil
}
