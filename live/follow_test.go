package live_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

// paper is a log in memory.
type paper struct {
	mu     sync.Mutex
	events []*event.Event
	reads  int
	err    error
}

func (p *paper) write(events ...event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range events {
		p.events = append(p.events, &events[i])
	}
}

func (p *paper) read(_ context.Context, after int64, limit int) ([]*event.Event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	if p.err != nil {
		return nil, p.err
	}
	rest := p.events[min(after, int64(len(p.events))):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

// seqs reads until n durable events have come.
func seqs(t *testing.T, f *live.Follower, n int) []int64 {
	t.Helper()
	var got []int64
	items := make([]live.Item, 3)
	for len(got) < n {
		n, err := f.Read(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items[:n] {
			if item.Event != nil && !item.Event.Live() {
				got = append(got, item.Event.Seq)
			}
		}
	}
	return got
}

// A long log comes page by page, then what is live follows.
func TestFollowBeginsAnywhere(t *testing.T) {
	t.Parallel()
	for _, after := range []int64{0, 1, 250, 255, 256, 257, 999, 1000} {
		synctest.Test(t, func(t *testing.T) {
			hub, log := new(live.Hub), &paper{}
			s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
			for range 1000 {
				log.write(s.Note("x"))
			}
			f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{After: after})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			want := after
			for _, seq := range seqs(t, f, int(1000-after)) {
				want++
				if seq != want {
					t.Fatalf("event %d comes where %d belongs", seq, want)
				}
			}
			p := hub.Publisher(here)
			defer p.Close()
			e := s.Note("live")
			log.write(e)
			p.Publish(e)
			if got := seqs(t, f, 1); got[0] != 1001 {
				t.Errorf("the next event is %d, want 1001", got[0])
			}
		})
	}
}

// A bus that says nothing does not keep anything back for longer than Poll.
func TestFollowAsksTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, log := new(live.Hub), &paper{}
		s := livetest.Script{Conversation: "c", Run: "r"}
		f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		late := []event.Event{s.Note("nobody told the bus"), s.End()}
		time.AfterFunc(3*time.Second, func() { log.write(late...) })
		begun := time.Now()
		seqs(t, f, 2)
		if took := time.Since(begun); took > 3*time.Second+live.DefaultPoll {
			t.Errorf("it took %v", took)
		}

		// Less than 0 is never.
		silent, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{After: 2, Poll: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		log.write(s.Note("nobody told the bus"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		reads := log.reads
		// It asks once, when it begins.
		if n, err := silent.Read(ctx, make([]live.Item, 4)); n != 1 || err != nil {
			t.Fatalf("the first read gave %d, %v", n, err)
		}
		if n, err := silent.Read(ctx, make([]live.Item, 4)); !errors.Is(err, event.ErrTimeout) {
			t.Errorf("the second read gave %d, %v, want %s", n, err, event.ErrTimeout)
		}
		if log.reads != reads+1 {
			t.Errorf("it asked the journal %d times, want once", log.reads-reads)
		}
	})
}

// An error of the journal loses nothing: the next Read goes on.
func TestFollowGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, log := new(live.Hub), &paper{}
		s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
		p := hub.Publisher(here)
		defer p.Close()
		begin := s.Begin("m1", 1)
		log.write(begin)
		p.Publish(begin)
		p.Publish(s.Text("m1", 1, "half a "))
		f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log.err = &event.Error{Kind: event.ErrUnavailable, Message: "away"}
		items := make([]live.Item, 4)
		for range 3 {
			if _, err := f.Read(t.Context(), items); !errors.Is(err, event.ErrUnavailable) {
				t.Fatalf("got %v, want the journal's error", err)
			}
		}
		log.err = nil
		screen := livetest.Screen{Following: true}
		for screen.Syncs == 0 {
			n, err := f.Read(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items[:n] {
				if err := screen.Show(item); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, _ := screen.Text("r", "m1"); got != "half a " {
			t.Errorf("the screen shows %q", got)
		}
		if _, err := f.Read(t.Context(), nil); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("Read without room: %v", err)
		}
		_ = hub.Close()
		if _, err := f.Read(t.Context(), items); !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("Read after the bus was closed: %v", err)
		}
		if _, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{}); !errors.Is(err, event.ErrUnavailable) {
			t.Errorf("Follow on a closed bus: %v", err)
		}
	})
}

// A step that the journal says is over is not shown again, though the bus does
// not know yet: its driver stands between the commit and the sending.
func TestFollowKnowsWhatTheBusDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, log := new(live.Hub), &paper{}
		s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
		p := hub.Publisher(here)
		defer p.Close()
		begin := s.Begin("m1", 1)
		log.write(begin)
		p.Publish(begin)
		p.Publish(s.Text("m1", 1, "the answer"))
		answer := s.Answer("m1", 1, "the answer")
		log.write(answer)
		f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := seqs(t, f, 2); !slices.Equal(got, []int64{1, 2}) {
			t.Fatalf("got %v", got)
		}
		p.Publish(answer)
		mark := s.Note("mark")
		log.write(mark)
		p.Publish(mark)
		items := make([]live.Item, 4)
		n, err := f.Read(t.Context(), items)
		if err != nil || n != 1 || items[0].Event == nil || items[0].Event.Seq != 3 {
			t.Errorf("after the answer came %d items, %+v, %v; want the mark alone", n, items[0], err)
		}
	})
}

// An answer that no model gave, and a question of no call, end no step that the bus still shows.
func TestFollowTellsStepsFromWhatIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, none := range []event.Body{
			&event.AssistantMessage{Content: []event.Block{&event.Text{Text: "8"}}, Stop: event.StopEndTurn}, &event.Asked{Token: "q"},
		} {
			hub, log := new(live.Hub), &paper{}
			s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
			p := hub.Publisher(here)
			begin := s.Begin("t1.0/m1", 1)
			log.write(begin)
			p.Publish(begin)
			p.Publish(s.Text("t1.0/m1", 1, "still "))
			log.write(s.Durable("", 0, none))
			f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			shown := ""
			items := make([]live.Item, 8)
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			for shown == "" {
				n, err := f.Read(ctx, items)
				if err != nil {
					break
				}
				for _, item := range items[:n] {
					if item.Sync == nil {
						continue
					}
					for i := range item.Sync.Steps {
						shown += item.Sync.Steps[i].Blocks[0].Text
					}
				}
			}
			stop()
			if shown != "still " {
				t.Errorf("%T: %q is shown of the step that goes on", none, shown)
			}
			f.Close()
			p.Close()
		}
	})
}

// A log whose pages end early, because its events are large, is read to its end all the same.
func TestFollowAShortPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paper{}
		for n := range int64(20) {
			p.write(event.Event{Header: event.Header{Seq: n + 1, Conversation: "talk"}, Body: &event.Notice{}})
		}
		more := false
		short := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
			events, err := p.read(ctx, after, limit)
			more = len(events) > 3
			return events[:min(len(events), 3)], err
		}
		hub := new(live.Hub)
		f, err := live.Follow(t.Context(), hub, here, short, live.FollowOptions{Poll: -1, More: func() bool { return more }})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i, seq := range seqs(t, f, 20) {
			if seq != int64(i)+1 {
				t.Fatalf("event %d has the seq %d", i, seq)
			}
		}
	})
}
