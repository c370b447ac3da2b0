package stream

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid/wire"
)

// writesCounted is how many writes are counted at a time.
const writesCounted = 16

// Head sets the headers of a stream.
func Head(h http.Header, w wire.Wire) {
	h.Set("Content-Type", w.ContentType)
	h.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold back what is there
}

// Writer writes a stream to an HTTP response, whose head has been written. Its reader may be slow.
type Writer struct {
	Response http.ResponseWriter
	// Time is how long one write may take before the reader counts as gone.
	Time time.Duration
	// Wrote is called now and then with the number of writes since the last call; nil calls nothing.
	Wrote func(n int)

	control *http.ResponseController
	// bound is when the deadline was set.
	bound time.Time
	// writes is how many writes Wrote has not been told of.
	writes int
}

// headWait is how long the head of a response waits for the first event, to leave in one write with it. A run that has
// just begun needs a part of that; a second write costs its reader a twentieth of the time to the first word.
const headWait = 2 * time.Millisecond

// Serve sends the stream to w. It returns what [Stream.Send] does.
func (s *Stream) Serve(ctx context.Context, w *Writer) error {
	w.control = http.NewResponseController(w.Response)
	defer w.count()
	if s.headless = s.begins(ctx); !s.headless && w.send(nil, time.Now()) != nil {
		return nil // the reader has left
	}
	return s.Send(ctx, w.send)
}

// begins reports whether there is something to send together with the head.
func (s *Stream) begins(ctx context.Context) bool {
	if len(s.First) > 0 || s.early > 0 {
		return true
	}
	var err error
	s.early, err = s.Follower.ReadBy(ctx, s.items[:], time.Now().Add(headWait))
	return err == nil && s.early > 0 // Send gets the error again
}

// count reports the writes.
func (w *Writer) count() {
	if w.Wrote != nil {
		w.Wrote(w.writes)
	}
	w.writes = 0
}

// send sends b at once.
func (w *Writer) send(b []byte, now time.Time) error {
	if now.Sub(w.bound) >= w.Time/8 { // moving it each time would cost a timer an event
		w.bound = now
		_ = w.control.SetWriteDeadline(now.Add(w.Time)) // where there are no deadlines, TCP's are left
	}
	if len(b) > 0 {
		if _, err := w.Response.Write(b); err != nil {
			return err
		}
		if w.writes++; w.writes == writesCounted {
			w.count()
		}
	}
	return w.control.Flush()
}
