package livetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// here and theRun are the conversation and the run that most cases use.
var here = live.Key{Tenant: "tenant", Conversation: "talk"}

const theRun = "run"

// probe runs one case on one bus. It ends the case if a call fails that must succeed.
type probe struct {
	testingT
	Harness
	ctx  context.Context //nolint:containedctx // a probe lives for one case
	stop context.CancelFunc
	ends []func()
}

func newProbe(t testingT, h Harness) *probe {
	if h.Unread == 0 {
		h.Unread = 2 * live.DefaultEvents
	}
	if h.Patience == 0 {
		h.Patience = time.Minute
	}
	p := &probe{testingT: t, Harness: h}
	p.ctx, p.stop = context.WithTimeout(t.Context(), h.Patience)
	return p
}

// end closes everything that the case opened, the bus last.
func (p *probe) end() {
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i]()
	}
	if err := p.Bus.Close(); err != nil {
		p.Errorf("closing the bus: %v", err)
	}
	p.stop()
}

// source is a driver: a script and a publisher.
type source struct {
	Script
	p   *probe
	pub live.Publisher
}

func (p *probe) drive(run string) *source { return p.driveIn(here, run) }

func (p *probe) driveIn(key live.Key, run string) *source {
	s := &source{
		Script: Script{Conversation: key.Conversation, Run: run, Epoch: 1}, p: p, pub: p.Bus.Publisher(key),
	}
	p.ends = append(p.ends, s.pub.Close)
	return s
}

func (s *source) send(events ...event.Event) {
	for _, e := range events {
		s.pub.Publish(e)
	}
}

// speak sends words of a step and returns them joined.
func (s *source) speak(step string, words int) string {
	var text strings.Builder
	for i := range words {
		word := strconv.Itoa(i) + " "
		text.WriteString(word)
		s.send(s.Text(step, 1, word))
	}
	return text.String()
}

// viewer is a watcher with a screen.
type viewer struct {
	Screen
	p *probe
	w live.Watcher
	// items are the items since the last look.
	items []live.Item
	room  []live.Item
}

func (p *probe) watch() *viewer {
	p.Helper()
	return p.watchIn(here)
}

// watchIn watches without reading.
func (p *probe) watchIn(key live.Key) *viewer {
	p.Helper()
	w, err := p.Bus.Watch(p.ctx, key)
	if err != nil {
		p.Fatalf("Watch: %v", err)
	}
	p.ends = append(p.ends, w.Close)
	return &viewer{p: p, w: w, room: make([]live.Item, 16)}
}

// watchNow watches and reads the first sync.
func (p *probe) watchNow() *viewer {
	p.Helper()
	v := p.watch()
	v.until("the first sync", func(item live.Item) bool { return item.Sync != nil })
	return v
}

// read reads once and shows everything.
func (v *viewer) read() {
	v.p.Helper()
	n, err := v.w.Read(v.p.ctx, v.room)
	if err != nil {
		v.p.Fatalf("Read: %v", err)
	}
	if n < 1 || n > len(v.room) {
		v.p.Fatalf("Read gave %d items into room for %d", n, len(v.room))
	}
	for _, item := range v.room[:n] {
		if err := v.Show(item); err != nil {
			v.p.Fatalf("%v", err)
		}
	}
	v.items = append(v.items, v.room[:n]...)
}

// until reads until want returns true. The read items are in v.items.
func (v *viewer) until(what string, want func(live.Item) bool) live.Item {
	v.p.Helper()
	v.items = nil
	for {
		before := len(v.items)
		n, err := v.w.Read(v.p.ctx, v.room)
		if err != nil {
			v.p.Fatalf("waiting for %s: %v; got %s", what, err, names(v.items))
		}
		for _, item := range v.room[:n] {
			if err := v.Show(item); err != nil {
				v.p.Fatalf("waiting for %s: %v", what, err)
			}
		}
		v.items = append(v.items, v.room[:n]...)
		for _, item := range v.items[before:] {
			if want(item) {
				return item
			}
		}
	}
}

// reach reads until the durable event seq was shown or a sync covered it.
func (v *viewer) reach(seq int64) {
	v.p.Helper()
	if v.Seq >= seq && v.Syncs > 0 {
		return
	}
	v.until(fmt.Sprint("event ", seq), func(live.Item) bool { return v.Seq >= seq })
}

// synced reads until a sync at seq or later.
func (v *viewer) synced(seq int64) *live.Sync {
	v.p.Helper()
	return v.until(fmt.Sprint("a sync at ", seq), func(item live.Item) bool {
		return item.Sync != nil && item.Sync.Last >= seq
	}).Sync
}

// shows checks the text of a step on the screen.
func (v *viewer) shows(step, want string) {
	v.p.Helper()
	got, found := v.Text(theRun, step)
	if !found {
		v.p.Fatalf("step %s is not in flight, want it to show %q", step, want)
	}
	if got != want {
		v.p.Fatalf("step %s shows %q, want %q", step, got, want)
	}
}

// says reads until the step shows this text.
func (v *viewer) says(step, want string) {
	v.p.Helper()
	for {
		if got, _ := v.Text(theRun, step); got == want {
			return
		}
		v.read()
	}
}

// rests checks that no other steps are in flight.
func (v *viewer) rests(steps ...string) {
	v.p.Helper()
	var got []string
	for _, s := range v.Steps {
		got = append(got, s.Step)
	}
	equal(v.p, "steps in flight", got, steps)
}

// names describes items for a message.
func names(items []live.Item) []string {
	var out []string
	for _, item := range items {
		if item.Sync != nil {
			out = append(out, fmt.Sprintf("sync %d", item.Sync.Last))
			continue
		}
		out = append(out, fmt.Sprint(item.Event.ID(), " ", item.Event.Body.Kind()))
	}
	return out
}

// refused checks that an error has the kind and a message.
func (p *probe) refused(what string, err error, kind event.ErrorKind) {
	p.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message == "" {
		p.Fatalf("%s: got %v, want an error of kind %s", what, err, kind)
	}
}

func equal[V any](p *probe, what string, got, want V) {
	p.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
