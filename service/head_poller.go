package service

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/braidrun/braid/journal"
)

// These times say how logs are polled if other processes drive runs. A follower sees a durable
// event within about headsPause plus sharedPoll.
const (
	// headsPause is the pause between two polls of the journal.
	headsPause = 600 * time.Millisecond
	// headsShare makes the pause at least so many times as long as a poll takes.
	headsShare = 10
	// mostHeadsPause bounds the pause.
	mostHeadsPause = 5 * time.Second
	// sharedPoll is how often a quiet stream asks the poller.
	sharedPoll = 600 * time.Millisecond
	// headsKept is how long a conversation is polled after its last follower asked.
	headsKept = 10 * time.Second
	// headsPatience is how long the journal may fail before followers read it themselves and get
	// the error.
	headsPatience = 30 * time.Second
	// goneLook is how often a conversation without a log is looked for.
	goneLook = 2 * time.Second
)

// headPoller knows the last Seq of each conversation that is followed in this process. One query to
// the journal serves all of them, so that the cost does not rise with the number of streams.
type headPoller struct {
	catalog journal.Catalog
	log     *slog.Logger

	mu      sync.Mutex
	watched map[string]*head
	// answered is when the journal last answered.
	answered time.Time

	end  context.CancelFunc
	work sync.WaitGroup
}

// head is the state of one followed conversation.
type head struct {
	// last is the Seq of its last event at the last poll.
	last int64
	// known reports that the journal was asked for it.
	known bool
	// exists reports that the journal had the conversation.
	exists bool
	used   time.Time
}

func newHeadPoller(catalog journal.Catalog, log *slog.Logger) *headPoller {
	return &headPoller{catalog: catalog, log: log, watched: make(map[string]*head)}
}

// start begins polling. It uses only the values of ctx.
func (h *headPoller) start(ctx context.Context) {
	ctx, h.end = context.WithCancel(context.WithoutCancel(ctx))
	h.mu.Lock()
	h.answered = time.Now()
	h.mu.Unlock()
	h.work.Go(func() { h.keep(ctx) })
}

// stop ends polling.
func (h *headPoller) stop() {
	if h.end != nil {
		h.end()
		h.work.Wait()
	}
}

func (h *headPoller) keep(ctx context.Context) {
	took := time.Duration(0)
	for {
		wait := min(max(headsPause, headsShare*took), mostHeadsPause)
		pause := time.NewTimer(wait*4/5 + rand.N(wait*2/5+1)) //nolint:gosec // spreads the processes
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

// ask asks the journal for all followed conversations.
func (h *headPoller) ask(ctx context.Context) error {
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
		h.answered = now
	}
	h.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	heads, err := h.catalog.LastSeqs(ctx, ids)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered = now
	for _, id := range ids {
		if w := h.watched[id]; w != nil {
			w.last, w.exists = heads[id]
			w.known = true
		}
	}
	return nil
}

// watch marks the conversation as followed. The caller holds the lock.
func (h *headPoller) watch(id string) *head {
	w := h.watched[id]
	if w == nil {
		w = &head{}
		h.watched[id] = w
	}
	w.used = time.Now()
	return w
}

// beyond returns a function that reports whether the log may have events after a Seq. The function
// is for one follower and not safe for concurrent use.
func (h *headPoller) beyond(id string) func(after int64) bool {
	h.mu.Lock()
	h.watch(id)
	h.mu.Unlock()
	var looked time.Time
	return func(after int64) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		w := h.watch(id)
		switch {
		case w.used.Sub(h.answered) > headsPatience:
			return true // read the journal, to get its error
		case !w.known:
			return false // the next poll will tell
		case w.exists:
			return w.last > after
		case w.used.Sub(looked) < goneLook:
			return false
		}
		looked = w.used
		return true // it has no events yet, or it was deleted
	}
}

// moved returns a function that reports whether the log may have grown: at first beyond last, the
// Seq that the caller has read, and then since the previous call. The function is not safe for
// concurrent use.
func (h *headPoller) moved(id string, last int64) func() bool {
	h.mu.Lock()
	since := h.watch(id).used
	h.mu.Unlock()
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		w := h.watch(id)
		switch {
		case w.used.Sub(h.answered) > headsPatience:
			return true // read the journal, to get its error
		case !w.known, h.answered.Before(since):
			return false // wait for the next poll: the last one is older than what the caller read
		case w.exists && w.last == last:
			return false
		}
		last = w.last
		return true
	}
}
