package stream_test

import (
	"net/http"
	"slices"
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

// flushed is a response that records when its bytes leave, and whether the head left alone.
type flushed struct {
	bounded

	began time.Time
	sent  int
	left  []string
}

func (w *flushed) Write(b []byte) (int, error) {
	w.sent += len(b)
	return len(b), nil
}

func (w *flushed) FlushError() error {
	what := "head"
	if w.sent > 0 {
		what = "events"
	}
	w.left, w.sent = append(w.left, what+" after "+time.Since(w.began).String()), 0
	return nil
}

// The head leaves with the first event if that comes at once, and alone after a moment if nothing comes.
func TestTheHeadLeavesWithTheFirstEvent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause time.Duration
		want  []string
	}{
		"there already": {0, []string{"events after 0s", "events after 1s"}},
		"at once":       {time.Millisecond, []string{"events after 1ms", "events after 1.001s"}},
		"later":         {time.Minute, []string{"head after 2ms", "events after 1m0s", "events after 1m1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &flushed{began: time.Now()}
				c := open()
				s := c.follow(t)
				p := c.hub.Publisher(key)
				defer p.Close()
				publish := func(e event.Event) {
					c.add(e)
					p.Publish(e)
				}
				if test.pause == 0 {
					publish(c.Note("x"))
				}
				ended := make(chan error)
				go func() { ended <- s.Serve(t.Context(), &stream.Writer{Response: w, Time: time.Hour}) }()
				if test.pause > 0 {
					time.Sleep(test.pause)
					publish(c.Note("x"))
				}
				time.Sleep(time.Second)
				publish(c.end())
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(w.left, test.want) {
					t.Errorf("it sent %q, want %q", w.left, test.want)
				}
			})
		})
	}
}
