package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// viewer is a client that follows a conversation by its cursor across connections, and keeps what
// it was shown.
type viewer struct {
	w    *world
	name string
	conv string
	draw *rand.Rand

	// The world's mutex guards the fields below.

	seen  []sight
	shown map[string]*shown
	epoch int64
	n     int64
	ctx   context.Context //nolint:containedctx // ends with the case
	stop  context.CancelFunc
}

// sight is a shown durable event with its time.
type sight struct {
	*event.Event
	at time.Time
}

// shown is the text of a step in flight as a user would see it.
type shown struct {
	attempt int
	text    string
	// holed is set if the screen reported a gap.
	holed bool
}

// viewer starts to follow the conversation.
func (w *world) viewer(name string) {
	v := &viewer{
		w: w, name: name, conv: talk, shown: map[string]*shown{},
		draw: rand.New(rand.NewPCG(w.c.Seed, uint64(len(w.viewers)+10))), //nolint:gosec // no secrecy
	}
	v.ctx, v.stop = context.WithCancel(as(context.Background(), name))
	w.viewers = append(w.viewers, v)
	w.spawn(v.follow)
}

// have returns the cursor.
func (v *viewer) have() int64 { return int64(len(v.seen)) }

// follow connects again and again.
func (v *viewer) follow() {
	for v.ctx.Err() == nil {
		v.w.gate.pass(nil, "viewer "+v.name, 0)
		p := v.w.reach()
		if p == nil {
			return
		}
		v.w.gate.pass(nil, "viewer "+v.name, 0)
		ctx, leave := context.WithCancel(v.ctx)
		done := make(chan struct{})
		v.w.spawn(func() {
			defer close(done)
			v.connect(ctx, p)
		})
		select {
		case <-done:
		case <-p.gone:
			// Events on their way to this client are lost first.
			v.w.gate.pass(nil, "viewer "+v.name+" is cut off", 0)
		case <-ctx.Done():
		}
		leave()
		v.w.mu.Lock()
		pause := time.Duration(v.draw.IntN(900)+50) * time.Millisecond
		v.w.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-v.ctx.Done():
		}
	}
}

// connect is one connection: the handler of a request in the process.
func (v *viewer) connect(ctx context.Context, p *process) {
	v.w.mu.Lock()
	after := v.have()
	// The viewer knows the steps in flight from earlier events. Their text comes with the
	// connection, or not at all.
	for _, s := range v.shown {
		s.text, s.holed = "", false
	}
	v.epoch, v.n = 0, 0
	v.w.record.connections++
	v.w.mu.Unlock()
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		return p.store.Read(ctx, v.conv, after, limit)
	}
	f, err := live.Follow(ctx, p.bus, live.Key{Tenant: tenant, Conversation: v.conv}, log, live.FollowOptions{After: after, Page: 4})
	if err != nil {
		return
	}
	defer f.Close()
	items := make([]live.Item, 8)
	for {
		n, err := f.Read(ctx, items)
		if err != nil {
			return
		}
		select {
		case <-p.gone:
			return // the client has left
		default:
		}
		v.w.mu.Lock()
		for _, item := range items[:n] {
			v.take(item)
		}
		cut := v.draw.IntN(8) == 0
		v.w.mu.Unlock()
		if cut {
			return
		}
	}
}

// take shows one item.
func (v *viewer) take(item live.Item) {
	switch {
	case item.Sync != nil:
		v.sync(item.Sync)
	case item.Event.Live():
		v.say(item.Event)
	default:
		v.durable(item.Event)
	}
}

func (v *viewer) fail(promise, format string, args ...any) {
	v.w.failLocked(promise, "%s %s", v.name, fmt.Sprintf(format, args...))
}

func (v *viewer) durable(e *event.Event) {
	if e.Seq != v.have()+1 {
		v.fail("P5", "was shown event %d after %d", e.Seq, v.have())
		return
	}
	own := *e // the watcher owns the item's memory
	v.seen = append(v.seen, sight{&own, time.Now()})
	key := e.Run + "/" + e.Step
	switch b := e.Body.(type) {
	case *event.StepBegun:
		// A new attempt begins with an empty screen.
		v.shown[key] = &shown{attempt: e.Attempt}
	case *event.AssistantMessage:
		if s := v.shown[key]; s != nil && e.Step != "" && !s.holed && !strings.HasPrefix(event.RawText(b.Content), s.text) {
			v.fail("P6", "had %q on the screen of %s/%d, which ended as %q", s.text, e.Step, e.Attempt, event.RawText(b.Content))
		}
		delete(v.shown, key)
	case *event.StepEnded:
		delete(v.shown, key)
	case *event.RunEnded:
		v.shown = map[string]*shown{}
	}
	if v == v.w.viewers[0] {
		v.w.show(*e)
	}
}

// say shows a piece of a step in flight.
func (v *viewer) say(e *event.Event) {
	d, ok := e.Body.(*event.TextDelta)
	if !ok {
		return
	}
	s := v.shown[e.Run+"/"+e.Step]
	switch {
	case s == nil:
		v.fail("P6", "was shown a piece of %s/%d, which is not in flight", e.Step, e.Attempt)
	case s.attempt != e.Attempt:
		v.fail("P6", "was shown a piece of %s/%d while attempt %d is in flight", e.Step, e.Attempt, s.attempt)
	case e.Epoch < v.epoch || e.Epoch == v.epoch && e.N <= v.n:
		v.fail("P6", "was shown piece %d/%d after %d/%d", e.Epoch, e.N, v.epoch, v.n)
	default:
		s.text += d.Text
		v.epoch, v.n = e.Epoch, e.N
		v.compare(e.Run, e.Step, s)
	}
}

// sync replaces the screens of the steps in flight.
func (v *viewer) sync(y *live.Sync) {
	if y.Missed > 0 {
		v.w.record.cuts++
	}
	if y.Last != v.have() {
		v.fail("P6", "was told of event %d at %d", y.Last, v.have())
	}
	for _, s := range v.shown {
		s.text, s.holed = "", false
	}
	for i := range y.Steps {
		s := &shown{attempt: y.Steps[i].Attempt, text: texts(&y.Steps[i]), holed: y.Steps[i].Truncated}
		v.shown[y.Steps[i].Run+"/"+y.Steps[i].Step] = s
		v.compare(y.Steps[i].Run, y.Steps[i].Step, s)
		if y.Steps[i].Epoch > v.epoch || y.Steps[i].Epoch == v.epoch && y.Steps[i].N > v.n {
			v.epoch, v.n = y.Steps[i].Epoch, y.Steps[i].N
		}
	}
}

// compare compares the screen with the model's output in this attempt.
func (v *viewer) compare(run, step string, s *shown) {
	if s.holed || s.text == "" {
		return
	}
	said := ""
	for _, m := range v.w.record.models {
		if m.run == run && m.step == step && m.attempt == s.attempt {
			if strings.HasPrefix(m.said, s.text) {
				return
			}
			said = m.said
		}
	}
	v.fail("P6", "has %q on the screen of %s/%d, which has said %q", s.text, step, s.attempt, said)
}
