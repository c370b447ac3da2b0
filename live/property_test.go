package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

// Whatever drivers do and whatever is lost, repeated or late on the way to the
// bus: a watcher is given or told of each durable event once, what it shows
// of a step joins on and comes to what the message says; and a follower shows
// every durable event, in order, wherever it began.
func TestWhateverHappensScreensConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			faults: rapid.Bool().Draw(rt, "faults"),
			options: live.HubOptions{
				Events: rapid.IntRange(1, 20).Draw(rt, "events"), Bytes: rapid.SampledFrom([]int{0, 2000}).Draw(rt, "bytes"),
				StepBytes: rapid.SampledFrom([]int{0, 0, 150}).Draw(rt, "step bytes"),
			},
			choices: choices(rt),
			rng:     rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed"))),
		}
		synctest.Test(t, func(t *testing.T) { w.play(t.Context()) })
		if w.err != nil {
			for _, line := range w.said {
				rt.Log(line)
			}
			rt.Fatal(w.err)
		}
	})
}

// choices are what a world is made of. Long lists are as likely as short ones.
func choices(rt *rapid.T) []byte {
	n := rapid.IntRange(0, 40).Draw(rt, "length")
	return rapid.SliceOfN(rapid.Byte(), n*10, n*10+10).Draw(rt, "choices")
}

// world is one conversation, its drivers and those who watch.
type world struct {
	faults  bool
	options live.HubOptions
	choices []byte
	rng     *rand.Rand
	err     error
	said    []string

	hub     *live.Hub
	log     []*event.Event
	script  livetest.Script
	runs    int
	steps   int
	open    []*openStep
	pub     live.Publisher
	outbox  []event.Event
	delayed []event.Event
	zombies []zombie
	raw     []*rawScreen
	follow  []*followScreen
}

// openStep is a step of the driver at work, and its text so far.
type openStep struct {
	name    string
	attempt int
	tool    bool
	text    string
}

// zombie is a driver that has not noticed that another has taken over.
type zombie struct {
	script livetest.Script
	pub    live.Publisher
	open   []openStep
}

type rawScreen struct {
	livetest.Screen
	w live.Watcher
}

type followScreen struct {
	livetest.Screen
	f     *live.Follower
	after int64
}

var here = live.Key{Tenant: "t", Conversation: "c"}

func (w *world) choose(n int) int {
	if len(w.choices) == 0 {
		return 0
	}
	// Drawn bytes are mostly small; what they are added to is not.
	c := (int(w.choices[0]) + w.rng.IntN(256)) % n
	w.choices = w.choices[1:]
	return c
}

func (w *world) say(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) play(ctx context.Context) {
	w.hub = live.NewHub(w.options)
	defer func() { _ = w.hub.Close() }()
	w.script = livetest.Script{Conversation: here.Conversation}
	w.begin()
	for len(w.choices) > 0 && w.err == nil {
		w.act(ctx)
	}
	w.end(ctx)
	for _, s := range w.raw {
		s.w.Close()
	}
	for _, s := range w.follow {
		s.f.Close()
	}
}

// begin is a new driver for the next run.
func (w *world) begin() {
	w.runs++
	w.script.Run = strconv.Itoa(w.runs)
	w.script.TakeOver()
	w.pub = w.hub.Publisher(here)
}

func (w *world) act(ctx context.Context) {
	switch w.choose(20) {
	case 0:
		w.beginStep(false)
	case 1:
		w.beginStep(true)
	case 2, 3, 4, 5, 6, 7:
		w.speak()
	case 8, 9:
		w.endStep()
	case 10:
		w.endRun()
	case 11:
		w.takeOver()
	case 12:
		w.haunt()
	case 13:
		w.attach(ctx)
	case 14, 15, 16:
		if len(w.raw) > 0 {
			w.readRaw(ctx, w.raw[w.choose(len(w.raw))], 1+w.choose(9), time.Nanosecond)
		}
	case 17, 18:
		if len(w.follow) > 0 {
			w.readFollow(ctx, w.follow[w.choose(len(w.follow))], 1+w.choose(9), time.Nanosecond)
		}
	case 19:
		if n := len(w.raw); n > 1 {
			w.raw[n-1].w.Close()
			w.raw = w.raw[:n-1]
		}
	}
}

// give is what the driver sends next. What it gave before has gone out by then;
// only readers come in between.
func (w *world) give(events ...event.Event) {
	w.flush()
	for i := range events {
		if e := events[i]; !e.Live() {
			w.log = append(w.log, &e)
		}
	}
	w.outbox = append(w.outbox, events...)
}

func (w *world) flush() {
	for _, e := range w.outbox {
		fault := 0
		if w.faults {
			fault = w.choose(12)
		}
		w.say("publish %s %s %s.%d fault %d", e.ID(), e.Body.Kind(), e.Step, e.Attempt, fault)
		switch fault {
		default:
			w.pub.Publish(e)
		case 9: // lost
		case 10:
			w.pub.Publish(e)
			w.pub.Publish(e)
		case 11:
			if _, begins := e.Body.(*event.StepBegun); begins {
				break // what was lost before it could not be told any more
			}
			w.delayed = append(w.delayed, e)
			continue
		}
		if len(w.delayed) > 0 && w.choose(2) == 0 {
			w.say("and late %s", w.delayed[0].ID())
			w.pub.Publish(w.delayed[0])
			w.delayed = w.delayed[1:]
		}
	}
	w.outbox = nil
}

func (w *world) beginStep(tool bool) {
	w.steps++
	s := &openStep{name: strconv.Itoa(w.steps), attempt: 1, tool: tool}
	w.open = append(w.open, s)
	w.give(w.beginning(s))
}

func (w *world) beginning(s *openStep) event.Event {
	if s.tool {
		return w.script.BeginTool(s.name, s.attempt, "call "+s.name, "tool")
	}
	return w.script.Begin(s.name, s.attempt)
}

func (w *world) speak() {
	if len(w.open) == 0 {
		return
	}
	s := w.open[w.choose(len(w.open))]
	word := strconv.Itoa(w.steps*1000+len(s.text)) + " "
	if s.tool {
		s.text = word
		w.give(w.script.Progress(s.name, s.attempt, "call "+s.name, "tool", word))
		return
	}
	s.text += word
	w.give(w.script.Text(s.name, s.attempt, word))
}

func (w *world) endStep() {
	if len(w.open) == 0 {
		return
	}
	i := w.choose(len(w.open))
	s := w.open[i]
	again := w.choose(4) == 0
	if !again {
		w.open = slices.Delete(w.open, i, i+1)
	}
	switch {
	case again: // failed, and tried again
		events := []event.Event{w.script.Fail(s.name, s.attempt, event.StepModel, event.OutcomeFailed)}
		s.attempt++
		s.text = ""
		w.give(append(events, w.beginning(s))...)
	case s.tool:
		w.give(w.script.Fail(s.name, s.attempt, event.StepTool, event.OutcomeDone))
	default:
		w.give(w.script.Answer(s.name, s.attempt, s.text))
	}
}

func (w *world) endRun() {
	w.open = nil
	w.give(w.script.End())
	w.flush()
	w.pub.Close()
	w.begin()
}

// takeOver is another driver. The one before knows nothing, or has died and been
// tidied up.
func (w *world) takeOver() {
	w.flush()
	z := zombie{script: w.script, pub: w.pub}
	for _, s := range w.open {
		z.open = append(z.open, *s)
	}
	if w.choose(2) == 0 {
		w.pub.Close()
	} else {
		w.zombies = append(w.zombies, z)
	}
	w.say("take over")
	w.script.TakeOver()
	w.pub = w.hub.Publisher(here)
	var events []event.Event
	for _, s := range w.open {
		events = append(events, w.script.Fail(s.name, s.attempt, event.StepModel, event.OutcomeLost))
		s.attempt++
		s.text = ""
		events = append(events, w.beginning(s))
	}
	w.give(events...)
}

func (w *world) haunt() {
	if len(w.zombies) == 0 {
		return
	}
	z := &w.zombies[w.choose(len(w.zombies))]
	if len(z.open) == 0 || w.choose(8) == 0 {
		z.pub.Close()
		return
	}
	s := z.open[w.choose(len(z.open))]
	e := z.script.Text(s.name, s.attempt, "haunted ")
	w.say("a dead driver sends %s", e.ID())
	z.pub.Publish(e)
}

func (w *world) attach(ctx context.Context) {
	if w.choose(2) == 0 {
		rw, err := w.hub.Watch(ctx, here)
		w.fail(err)
		w.raw = append(w.raw, &rawScreen{w: rw, Screen: livetest.Screen{Lossy: w.faults}})
		return
	}
	after := int64(w.choose(len(w.log) + 1))
	f, err := live.Follow(ctx, w.hub, here, w.read, live.FollowOptions{After: after, Page: 1 + w.choose(5)})
	w.fail(err)
	s := &followScreen{f: f, after: after, Screen: livetest.Screen{Seq: 0, Following: true, Lossy: true}}
	for _, e := range w.log[:after] {
		w.fail(s.Show(live.Item{Event: e})) // what it has seen before
	}
	s.Shown = nil
	w.follow = append(w.follow, s)
}

func (w *world) read(_ context.Context, after int64, limit int) ([]*event.Event, error) {
	rest := w.log[min(after, int64(len(w.log))):]
	return rest[:min(limit, len(rest))], nil
}

func (w *world) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

// readRaw reads once and reports whether something came.
func (w *world) readRaw(ctx context.Context, s *rawScreen, room int, patience time.Duration) bool {
	items := make([]live.Item, room)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err := s.w.Read(ctx, items)
	return w.show(&s.Screen, items[:n], err)
}

func (w *world) readFollow(ctx context.Context, s *followScreen, room int, patience time.Duration) bool {
	items := make([]live.Item, room)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err := s.f.Read(ctx, items)
	return w.show(&s.Screen, items[:n], err)
}

func (w *world) show(s *livetest.Screen, items []live.Item, err error) bool {
	if errors.Is(err, event.ErrTimeout) {
		return false
	}
	w.fail(err)
	for _, item := range items {
		if item.Event != nil {
			w.say("  %p reads %s", s, item.Event.ID())
		} else {
			w.say("  %p reads sync %d", s, item.Sync.Last)
		}
		w.fail(s.Show(item))
	}
	return len(items) > 0 && w.err == nil
}

// end lets everything arrive and looks at every screen.
func (w *world) end(ctx context.Context) {
	w.flush()
	w.faults = false
	// The end of everything arrives, so that a hole before it is seen.
	w.give(w.script.Note("mark"))
	w.flush()
	for _, s := range w.raw {
		for w.readRaw(ctx, s, 7, time.Nanosecond) {
		}
		w.fail(w.check(&s.Screen))
		w.fail(w.covered(s))
	}
	for _, s := range w.follow {
		for w.readFollow(ctx, s, 7, 5*time.Second) {
		}
		w.fail(w.check(&s.Screen))
		for i, seq := range s.Shown {
			if seq != s.after+1+int64(i) {
				w.fail(fmt.Errorf("a follower from %d shows %v", s.after, s.Shown))
			}
		}
	}
}

// check holds a screen on which everything has arrived against the truth.
func (w *world) check(s *livetest.Screen) error {
	if s.Seq != w.script.Seq {
		return fmt.Errorf("a screen stands at %d, the log at %d", s.Seq, w.script.Seq)
	}
	for _, o := range w.open {
		i := slices.IndexFunc(s.Steps, func(p live.Snapshot) bool { return p.Step == o.name && p.Run == w.script.Run })
		if i < 0 || s.Steps[i].Attempt != o.attempt {
			continue // it began before the screen, or its beginning was lost
		}
		got, _ := s.Text(w.script.Run, o.name)
		if o.tool {
			if s.Steps[i].Progress != nil {
				got = s.Steps[i].Progress.Text
			}
			if s.Lossy || s.Steps[i].Truncated {
				continue
			}
		}
		if got == o.text || (s.Lossy || s.Steps[i].Truncated) && strings.HasPrefix(o.text, got) {
			continue
		}
		return fmt.Errorf("step %s shows %q, the truth is %q", o.name, got, o.text)
	}
	return nil
}

// covered wants each durable event since the screen began to be shown or told of.
func (w *world) covered(s *rawScreen) error {
	if s.Syncs == 0 {
		return fmt.Errorf("a watcher was given nothing")
	}
	seen := map[int64]int{}
	for _, seq := range s.Shown {
		seen[seq]++
	}
	for _, gap := range s.Gaps {
		for seq := gap[0]; seq <= gap[1]; seq++ {
			seen[seq]++
		}
	}
	first := s.Seq
	for seq := range seen {
		first = min(first, seq)
	}
	for seq := first; seq <= s.Seq; seq++ {
		if n := seen[seq]; n > 1 || n == 0 && seq != s.Seq {
			return fmt.Errorf("event %d came or was told of %d times", seq, n)
		}
	}
	return nil
}
