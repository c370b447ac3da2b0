package stream_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a wire that writes an event as its number, a heartbeat as beat and the end by an error as f. Its stream is over
// with the first run that ends.
type plain struct {
	over *bool
	beat string
}

func (p *plain) Append(dst []byte, it *story.Item) []byte {
	if it.Snapshot != nil {
		return append(dst, 's')
	}
	if _, ok := it.Event.Body.(*event.RunEnded); ok {
		*p.over = true
	}
	return strconv.AppendInt(dst, it.Event.Seq, 10)
}

func (*plain) AppendNotice(dst []byte, _, _ string) []byte { return append(dst, 'n') }
func (p *plain) Skip(it *story.Item)                       { p.Append(nil, it) }
func (p *plain) Idle(dst []byte) []byte                    { return append(dst, p.beat...) }
func (*plain) Fail(dst []byte, _ error) []byte             { return append(dst, 'f') }

// conversation is a log, and the bus that tells of it.
type conversation struct {
	livetest.Script

	mu     sync.Mutex
	hub    live.Hub
	events []*event.Event
	broken error
}

var key = live.Key{Tenant: "t", Conversation: "c"}

func (c *conversation) read(_ context.Context, after int64, limit int) ([]*event.Event, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := c.events[min(int(after), len(c.events)):]
	return rest[:min(len(rest), limit)], nil
}

func (c *conversation) add(list ...event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range list {
		c.events = append(c.events, &e)
	}
}

// writes are the pieces that a reader was sent.
type writes []string

func (w *writes) sink(b []byte, _ time.Time) error {
	*w = append(*w, string(b))
	return nil
}

// follow begins a stream of the conversation.
func (c *conversation) follow(t *testing.T) *stream.Stream {
	t.Helper()
	f, err := live.Follow(t.Context(), &c.hub, key, c.read, live.FollowOptions{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := &stream.Stream{Follower: f}
	s.Encoder = &plain{over: &s.Over, beat: "h"}
	return s
}

func open() *conversation {
	return &conversation{Script: livetest.Script{Conversation: "c", Run: "r", Epoch: 1}}
}

func (c *conversation) end() event.Event {
	e := c.Note("")
	e.Body = &event.RunEnded{Status: event.RunCompleted}
	return e
}

func TestWhatIsReadyIsOneWrite(t *testing.T) {
	t.Parallel()
	c := open()
	for range 40 {
		c.add(c.Note("x"))
	}
	c.add(c.end())
	var got writes
	s := c.follow(t)
	s.First = []byte("first")
	if err := s.Send(t.Context(), got.sink); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range 41 {
		want += strconv.Itoa(i + 1)
	}
	if !slices.Equal(got, writes{"first", want}) {
		t.Errorf("the reader was sent %q", got)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open()
		s := c.follow(t)
		s.Heartbeat = 15 * time.Second
		s.Extra = &looks{due: time.Now().Add(20 * time.Second)}
		begun := time.Now()
		var got []string
		ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
		defer stop()
		err := s.Send(ctx, func(b []byte, now time.Time) error {
			got = append(got, string(b)+" "+now.Sub(begun).String())
			return nil
		})
		if want := []string{"h 15s", "x 20s", "h 35s"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the reader was sent %q and the stream ended with %v, want %q", got, err, want)
		}
	})
}

// looks says x at one time, and b before each event.
type looks struct{ due time.Time }

func (*looks) Before(_ context.Context, dst []byte, _ *event.Event) []byte { return append(dst, 'b') }
func (l *looks) Due() time.Time                                            { return l.due }

func (l *looks) Look(_ context.Context, dst []byte) ([]byte, error) {
	if l.due.IsZero() || time.Now().Before(l.due) {
		return dst, nil
	}
	l.due = time.Time{}
	return append(dst, 'x'), nil
}

// A wire that has nothing to say while nothing comes is asked once for each heartbeat.
func TestAnEncoderWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open().follow(t)
		asked := 0
		s.Encoder = &mute{Encoder: s.Encoder, asked: &asked}
		s.Heartbeat = 15 * time.Second
		ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
		defer stop()
		if err := s.Send(ctx, func([]byte, time.Time) error { return nil }); err != nil || asked != 2 {
			t.Errorf("the encoder was asked %d times: %v", asked, err)
		}
	})
}

// mute is an encoder without heartbeats.
type mute struct {
	wire.Encoder

	asked *int
}

func (m *mute) Idle(dst []byte) []byte {
	if *m.asked++; *m.asked > 100 {
		panic("the stream does not wait")
	}
	return dst
}

func TestHowAStreamEnds(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("unreadable")
	for _, test := range []struct {
		name   string
		broken error
		left   bool
		want   writes
		err    error
	}{
		{"the run has ended", nil, false, writes{"b1b2"}, nil},
		{"the log cannot be read", unreadable, false, writes{"f"}, unreadable},
		{"the reader has left", nil, true, nil, nil},
		{"the reader has left a log that cannot be read", unreadable, true, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := open()
			c.add(c.Note("x"), c.end())
			s := c.follow(t)
			c.broken, s.Extra = test.broken, &looks{}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var got writes
			sink := got.sink
			if test.left {
				stop()
				sink = func([]byte, time.Time) error { return errors.New("gone") }
			}
			if err := s.Send(ctx, sink); !errors.Is(err, test.err) || !slices.Equal(got, test.want) {
				t.Errorf("the reader was sent %q and the stream ended with %v", got, err)
			}
		})
	}
}

func TestWhatTheReaderHasIsSkipped(t *testing.T) {
	t.Parallel()
	c := open()
	for range 5 {
		c.add(c.Note("x"))
	}
	c.add(c.end())
	third := func(e *event.Event) bool { return e.Seq == 3 }
	for _, test := range []struct {
		name  string
		to    int64
		until func(*event.Event) bool
		at    int64
		done  bool
	}{
		{"nothing", 0, nil, 0, false},
		{"up to a place", 4, nil, 4, false},
		{"up to an event", stream.ToTheEnd, third, 2, false},
		{"everything", stream.ToTheEnd, nil, 6, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := c.follow(t)
			at, err := s.Skip(t.Context(), c.read, test.to, test.until)
			if err != nil || at != test.at || s.Over != test.done {
				t.Errorf("skipped up to %d (%v), and the stream is over: %t", at, err, s.Over)
			}
		})
	}
}
