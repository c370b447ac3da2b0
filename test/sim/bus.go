package sim

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// bus is the hub of one process: every call passes the gate.
type bus struct{ p *process }

var _ live.Bus = (*bus)(nil)

// Publisher implements [live.Bus].
func (b *bus) Publisher(key live.Key) live.Publisher { return b.publisher("", key) }

func (b *bus) publisher(who string, key live.Key) live.Publisher {
	return &publisher{p: b.p, who: who, base: b.p.hub.Publisher(key)}
}

// Watch implements [live.Bus].
func (b *bus) Watch(ctx context.Context, key live.Key) (live.Watcher, error) {
	return call(b.p, Watch, who(ctx), func() (live.Watcher, error) {
		w, err := b.p.hub.Watch(ctx, key)
		if err != nil {
			return nil, err
		}
		return &watcher{p: b.p, who: who(ctx), Watcher: w}, nil
	})
}

// Close implements [live.Bus].
func (b *bus) Close() error { return b.p.hub.Close() }

// publisher may lose an event, send it twice, or send it after the next one.
type publisher struct {
	p    *process
	who  string
	base live.Publisher

	mu sync.Mutex
	// held holds the events to send after the next one.
	held []event.Event
}

// Publish implements [live.Publisher].
func (u *publisher) Publish(e event.Event) {
	f, ok := u.p.enter(Publish, u.who)
	if !ok {
		return
	}
	send := func() {
		u.p.w.published(u.p, e)
		u.base.Publish(e)
		u.mu.Lock()
		held := u.held
		u.held = nil
		u.mu.Unlock()
		for _, h := range held {
			u.base.Publish(h)
		}
	}
	switch f {
	case Crash:
		u.p.crash()
		u.p.again(Publish, u.who)
		return
	case CrashAfter:
		send()
		u.p.crash()
		u.p.again(Publish, u.who)
		return
	case Lose:
		u.p.w.published(u.p, e)
		return
	case Reorder:
		u.p.w.published(u.p, e)
		u.mu.Lock()
		u.held = append(u.held, e)
		u.mu.Unlock()
		return
	case Twice:
		send()
	case Delay:
		if !u.p.late(Publish, u.who) {
			return
		}
	case Pause:
		u.p.pause()
		if !u.p.again(Publish, u.who) {
			return
		}
	}
	send()
	if f == PauseAfter {
		u.p.pause()
		u.p.again(Publish, u.who)
	}
}

// Close implements [live.Publisher].
func (u *publisher) Close() { u.base.Close() }

// watcher returns the events it has received when its turn comes.
type watcher struct {
	live.Watcher
	p   *process
	who string
}

// Read implements [live.Watcher]. It loses what it has read when the bus fails: the reader must
// watch again.
func (w *watcher) Read(ctx context.Context, items []live.Item) (int, error) {
	n, err := w.Watcher.Read(ctx, items)
	if err != nil {
		return n, err
	}
	_, err = call(w.p, Receive, w.who, func() (struct{}, error) { return struct{}{}, nil })
	if err != nil {
		clear(items[:n])
		return 0, err
	}
	return n, nil
}

// texts returns the text of a snapshot's blocks.
func texts(s *live.Snapshot) string {
	blocks := slices.Clone(s.Blocks)
	slices.SortStableFunc(blocks, func(a, b live.Block) int { return a.Block - b.Block })
	var all strings.Builder
	for _, b := range blocks {
		if b.Kind == event.BlockText {
			all.WriteString(b.Text)
		}
	}
	return all.String()
}
