package service

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/braidrun/braid/journal"
)

// How the conversations that are watched here are followed where other processes drive
// runs of them. A durable event is seen within about the first two together.
const (
	// headsPause is how long after one look at the journal the next one comes, headsShare
	// keeps the looking to a part of the time, and mostHeadsPause bounds that.
	headsPause     = 600 * time.Millisecond
	headsShare     = 10
	mostHeadsPause = 5 * time.Second
	// sharedPoll is how often a quiet stream looks at what the journal said.
	sharedPoll = 600 * time.Millisecond
	// headsKept is how long a conversation is asked for that nobody looks for any more.
	headsKept = 10 * time.Second
	// headsPatience is how long the journal may be away before streams are told.
	headsPatience = 30 * time.Second
	// goneLook is how often a conversation that has no log is looked for.
	goneLook = 2 * time.Second
)

// heads knows how far the logs are of the conversations that are watched in this process.
// It asks the journal for all of them at once, so that what it costs does not rise with the
// number of streams.
type heads struct {
	catalog journal.Catalog
	log     *slog.Logger

	mu      sync.Mutex
	watched map[string]*head
	// heard is when the journal answered last.
	heard time.Time

	end  context.CancelFunc
	work sync.WaitGroup
}

// head is a conversation that somebody watches.
type head struct {
	// last is the Seq of its last event when the journal was asked last; told says that it
	// was, and there that it had the conversation.
	last        int64
	told, there bool
	used        time.Time
}

func newHeads(catalog journal.Catalog, log *slog.Logger) *heads {
	return &heads{catalog: catalog, log: log, watched: make(map[string]*head)}
}

// start begins to ask. ctx is for its values.
func (h *heads) start(ctx context.Context) {
	ctx, h.end = context.WithCancel(context.WithoutCancel(ctx))
	h.mu.Lock()
	h.heard = time.Now()
	h.mu.Unlock()
	h.work.Go(func() { h.keep(ctx) })
}

// stop ends the asking.
func (h *heads) stop() {
	if h.end != nil {
		h.end()
		h.work.Wait()
	}
}

func (h *heads) keep(ctx context.Context) {
	took := time.Duration(0)
	for {
		wait := min(max(headsPause, headsShare*took), mostHeadsPause)
		pause := time.NewTimer(wait*4/5 + rand.N(wait*2/5+1)) //nolint:gosec // only to differ from other processes
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		begun := time.Now()
		if err := h.ask(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("the journal did not say how far conversations are", "error", err)
		}
		took = time.Since(begun)
	}
}

// ask asks the journal for all that is watched.
func (h *heads) ask(ctx context.Context) error {
	now := time.Now()
	h.mu.Lock()
	ids := make([]string, 0, len(h.watched))
	for id, w := range h.watched {
		if now.Sub(w.used) > headsKept {
			delete(h.watched, id)
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		h.heard = now
	}
	h.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	heads, err := h.catalog.Heads(ctx, ids)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = now
	for _, id := range ids {
		if w := h.watched[id]; w != nil {
			w.last, w.there = heads[id]
			w.told = true
		}
	}
	return nil
}

// watch says that somebody follows the conversation.
func (h *heads) watch(id string) *head {
	w := h.watched[id]
	if w == nil {
		w = &head{}
		h.watched[id] = w
	}
	w.used = time.Now()
	return w
}

// beyond gives a reader's way to ask whether its log may have events after a Seq. It is for
// one reader.
func (h *heads) beyond(id string) func(after int64) bool {
	h.mu.Lock()
	h.watch(id)
	h.mu.Unlock()
	var looked time.Time
	return func(after int64) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		w := h.watch(id)
		switch {
		case w.used.Sub(h.heard) > headsPatience:
			return true // the journal itself is to say what is wrong
		case !w.told:
			return false // it will be in a moment
		case w.there:
			return w.last > after
		case w.used.Sub(looked) < goneLook:
			return false
		}
		looked = w.used
		return true // nothing was said in it yet, or it was deleted
	}
}

// moved gives somebody's way to ask whether the log may have moved: beyond last, which is the Seq of
// its last event as he has just read it, and from then on since the last time. It is for one goroutine.
func (h *heads) moved(id string, last int64) func() bool {
	h.mu.Lock()
	since := h.watch(id).used
	h.mu.Unlock()
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		w := h.watch(id)
		switch {
		case w.used.Sub(h.heard) > headsPatience:
			return true // the journal itself is to say what is wrong
		case !w.told, h.heard.Before(since):
			return false // it will be in a moment; what it said before he read is older than what he knows
		case w.there && w.last == last:
			return false
		}
		last = w.last
		return true
	}
}
