package stream_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/stream"
)

// bounded is a response that records how long each write may take.
type bounded struct {
	http.ResponseWriter
	deadline time.Time
	left     []time.Duration
}

func (w *bounded) SetWriteDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

func (w *bounded) Write(b []byte) (int, error) {
	w.left = append(w.left, time.Until(w.deadline))
	return len(b), nil
}

func (*bounded) FlushError() error { return nil }

// Every write has a deadline ahead, also one that follows the write before it closely or late.
func TestEveryWriteHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = time.Second
		w := &bounded{}
		c := open()
		s := c.follow(t)
		p := c.hub.Publisher(key)
		defer p.Close()
		publish := func(e event.Event) {
			c.add(e)
			p.Publish(e)
		}
		ended := make(chan error)
		go func() { ended <- s.Serve(t.Context(), &stream.Writer{Response: w, Time: most}) }()
		pauses := []time.Duration{0, most / 20, most / 10, most / 8, most - 1, 3 * most, most / 20}
		for _, pause := range pauses {
			time.Sleep(pause)
			publish(c.Note("x"))
			synctest.Wait()
		}
		publish(c.end())
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if len(w.left) != len(pauses)+1 {
			t.Fatalf("%d writes", len(w.left))
		}
		for i, left := range w.left {
			if left <= most*7/8-1 || left > most {
				t.Errorf("write %d may take %v", i, left)
			}
		}
	})
}
