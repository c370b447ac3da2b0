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

// Serve sends the stream to w. It returns what [Stream.Send] does.
func (s *Stream) Serve(ctx context.Context, w *Writer) error {
	w.control = http.NewResponseController(w.Response)
	defer w.count()
	if w.send(nil, time.Now()) != nil {
		return nil // the reader has left
	}
	return s.Send(ctx, w.send)
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
