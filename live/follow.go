package live

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Log reads at most limit durable events of the conversation after a Seq, in order, like a
// journal's Read.
type Log func(ctx context.Context, after int64, limit int) ([]*event.Event, error)

// FollowOptions configure [Follow]. The zero value has good defaults.
type FollowOptions struct {
	// After is the Seq of the last durable event that the reader has. 0 means the beginning.
	After int64
	// Current says that the log had nothing after After a moment ago. Then the journal is read only
	// if the bus reports that something is missing.
	Current bool
	// Poll is how long the bus may be silent before the journal is asked for missed events. 0 means
	// [DefaultPoll], negative means never. If events came meanwhile it may be half of that.
	Poll time.Duration
	// Beyond reports whether the journal may have events after a Seq. If it is set it is called
	// after each Poll, and the journal is read only if it returns true. One poller can so serve
	// many readers. It must be quick.
	Beyond func(after int64) bool
	// Page is how many events are read from the journal at a time. 0 or less means [DefaultPage].
	Page int
	// More reports whether the log goes on after the last page. It is for logs whose pages may be
	// shorter than Page. Without it a shorter page is the last one.
	More func() bool
}

// These are the defaults of [FollowOptions].
const (
	DefaultPoll = 2 * time.Second
	DefaultPage = 256
)

// Follower follows a conversation from a place in its log on. It is for one goroutine at a time,
// but Close may be called by another.
type Follower struct {
	watcher Watcher
	log     Log
	poll    time.Duration
	beyond  func(after int64) bool
	page    int
	more    func() bool

	// have is the Seq of the last durable event that was returned.
	have int64
	// behind reports that the journal may have events after have.
	behind bool
	// timer wakes the watcher when the wait for the bus must end. It is only moved to an earlier
	// time: if it fires early, nothing is due. A context with a deadline for each wait would cost
	// as much as sending an event.
	timer *time.Timer
	armed time.Time
	// asks is when to ask the journal, unless moved is set. An event only sets moved, because
	// reading the clock costs a part of what an event costs.
	asks  time.Time
	moved bool

	// inbox are items of the bus that were not handled yet.
	inbox []Item
	room  []Item
	// read are events of the journal that were not returned yet.
	read []*event.Event
	// sync is to be returned once the log has caught up with it.
	sync *Sync

	// busSeq is the Seq of the last durable event of the bus.
	busSeq int64
	// news are the changes to steps that the journal has after busSeq.
	news []news
	// before is where the reader began. The news before it are not known from returned events.
	before int64
	// review is set if the bus turns out to be behind before.
	review bool
}

// news says that a step, or all steps of a run if it has no step, is over for attempts up to
// attempt. If begun is set another attempt has begun.
type news struct {
	head    event.Header
	attempt int
	begun   *event.StepBegun
}

// mostNews bounds the kept news. The bus is behind the journal by one commit or a moment on the
// network, not more.
const mostNews = 64

// roomItems is how many items are taken from the bus at a time. It is small, because every reader
// has this room all the time.
const roomItems = 16

// Follow begins to follow a conversation. [Follower.Read] then returns three kinds of items.
// Durable events after options.After come once, in the order of Seq, whatever the bus lost,
// repeated or cut off. Live events come for steps that have begun and not ended according to the
// durable events before them; none is covered by an earlier [Sync]. A Sync comes when the text of
// steps in flight must be replaced; its Last is the Seq of the event before it.
//
// The Follower must be closed. Follow returns the bus's error.
func Follow(ctx context.Context, bus Bus, key Key, log Log, options FollowOptions) (*Follower, error) {
	w, err := bus.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	f := &Follower{
		watcher: w, log: log, poll: options.Poll, beyond: options.Beyond, page: options.Page, more: options.More,
		have: options.After, before: options.After, behind: !options.Current, room: make([]Item, roomItems),
	}
	if f.poll == 0 {
		f.poll = DefaultPoll
	}
	if f.page <= 0 {
		f.page = DefaultPage
	}
	t, ok := w.(wakingWatcher)
	if ok {
		f.timer = time.AfterFunc(time.Hour, t.notify)
		f.timer.Stop()
	}
	if ok && options.Current {
		// From here on the bus keeps events for the reader, although it does not read yet.
		n, err := t.tryRead(f.room)
		if err != nil {
			w.Close()
			return nil, err
		}
		f.inbox = f.room[:n]
	}
	return f, nil
}

// Read waits for items and returns how many it wrote: all that are ready, at most len(items). It
// returns the error of ctx, of the bus or of the log, and then another Read continues.
func (f *Follower) Read(ctx context.Context, items []Item) (int, error) {
	return f.ReadBy(ctx, items, time.Time{})
}

// ReadBy is [Follower.Read], but returns 0 and no error if there is nothing by the given time. The
// zero time means never.
func (f *Follower) ReadBy(ctx context.Context, items []Item, by time.Time) (int, error) {
	if len(items) == 0 {
		return 0, noRoom()
	}
	for {
		if n := f.collect(items); n > 0 {
			return n, nil
		}
		if late, err := f.fetch(ctx, by); late || err != nil {
			return 0, err
		}
	}
}

// Ready returns what is ready without waiting and without reading the journal, at most len(items).
// It returns 0 if nothing is.
func (f *Follower) Ready(items []Item) int {
	n := f.collect(items)
	if n > 0 || f.behind || f.review || len(items) == 0 {
		return n
	}
	t, ok := f.watcher.(wakingWatcher)
	if !ok {
		return 0
	}
	if n, err := t.tryRead(f.room); n > 0 && err == nil { // the next Read gets the error again
		f.inbox = f.room[:n]
	}
	return f.collect(items)
}

// collect returns the items that are ready.
func (f *Follower) collect(items []Item) int {
	n := 0
	for n < len(items) {
		item, ok := f.next()
		if !ok {
			break
		}
		items[n] = item
		n++
	}
	return n
}

// Close stops following.
func (f *Follower) Close() {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.watcher.Close()
}

// wakingWatcher is a watcher whose wait can end without a context of its own.
type wakingWatcher interface {
	// readWoken is Read, but returns 0 and no error if it was woken without an item. It is for
	// readers whose ctx stays the same.
	readWoken(ctx context.Context, items []Item) (int, error)
	// tryRead is Read without waiting.
	tryRead(items []Item) (int, error)
	// notify wakes the reader, now or the next time it waits.
	notify()
}

// next returns the next item that is ready.
func (f *Follower) next() (Item, bool) {
	for {
		if len(f.read) > 0 {
			e := f.read[0]
			f.read = f.read[1:]
			if len(f.read) == 0 {
				f.read = nil // and free its page
			}
			f.have = e.Seq
			if e.Seq > f.busSeq {
				f.ahead(e)
			}
			return Item{Event: e}, true
		}
		if f.behind || f.review {
			return Item{}, false
		}
		if s := f.sync; s != nil {
			f.sync = nil
			if steps := f.open(s.Steps); len(steps) > 0 {
				return Item{Sync: &Sync{Last: f.have, Steps: steps, Missed: s.Missed}}, true
			}
			continue
		}
		if len(f.inbox) == 0 {
			return Item{}, false
		}
		item := f.inbox[0]
		f.inbox[0] = Item{} // do not keep it while nothing comes
		f.inbox = f.inbox[1:]
		switch {
		case item.Sync != nil:
			f.advance(item.Sync.Last)
			f.sync, f.behind = item.Sync, f.have < item.Sync.Last
			f.review = item.Sync.Last > 0 && item.Sync.Last < f.before
		case item.Event.Live():
			if !f.over(&item.Event.Header, 0) {
				return item, true
			}
		default:
			e := item.Event
			f.advance(e.Seq)
			if e.Seq == f.have+1 {
				f.have = e.Seq
				return item, true
			}
			f.behind = e.Seq > f.have
		}
	}
}

// fetch reads from the journal if the reader is behind it, and from the bus otherwise. If the bus
// is silent for long it asks the journal. late reports that there was nothing by the given time.
func (f *Follower) fetch(ctx context.Context, by time.Time) (late bool, err error) {
	if f.review {
		return false, f.look(ctx)
	}
	if f.behind {
		after := f.have
		page, err := f.log(ctx, after, f.page)
		if err != nil {
			return false, err
		}
		f.read, f.behind = page, len(page) >= f.page || f.goesOn()
		return false, nil
	}
	looks := f.poll > 0
	if looks && f.asks.IsZero() {
		f.asks, f.moved = time.Now().Add(f.poll), false
	}
	for {
		due := by
		if looks && (due.IsZero() || f.asks.Before(due)) {
			due = f.asks
		}
		n, err := f.wait(ctx, due)
		if n > 0 || err != nil {
			f.inbox, f.moved = f.room[:n], true
			return false, err
		}
		now := time.Now()
		switch {
		case !looks || now.Before(f.asks):
		case f.moved:
			f.asks, f.moved = now.Add(f.poll/2), false
		case f.beyond != nil && !f.beyond(f.have):
			f.asks = now.Add(f.poll)
		default:
			f.behind, f.asks = true, time.Time{}
			return false, nil
		}
		if !by.IsZero() && !now.Before(by) {
			return true, nil
		}
	}
}

// wait reads from the bus. It may return early without an item and without an error.
func (f *Follower) wait(ctx context.Context, due time.Time) (int, error) {
	if t, ok := f.watcher.(wakingWatcher); ok {
		if !due.IsZero() && (f.armed.IsZero() || due.Before(f.armed)) {
			f.armed = due
			f.timer.Reset(time.Until(due))
		}
		n, err := t.readWoken(ctx, f.room)
		if n == 0 && err == nil && !time.Now().Before(f.armed) {
			f.armed = time.Time{}
		}
		return n, err
	}
	wait, stop := ctx, func() {}
	if !due.IsZero() {
		wait, stop = context.WithDeadline(ctx, due)
	}
	defer stop()
	n, err := f.watcher.Read(wait, f.room)
	if err != nil && ctx.Err() == nil && errors.Is(err, event.ErrTimeout) {
		return 0, nil
	}
	return n, err
}

// goesOn reports whether the log goes on after the last page, although that page was short.
func (f *Follower) goesOn() bool { return f.more != nil && f.more() }

// look reads again the events before the reader's start that the bus has not sent yet.
func (f *Follower) look(ctx context.Context) error {
	later := f.news
	f.news = nil
	for from := max(f.busSeq, f.before-mostNews); from < f.before; {
		page, err := f.log(ctx, from, int(f.before-from))
		if err != nil {
			f.news = later
			return err
		}
		for _, e := range page {
			f.ahead(e)
			from = e.Seq
		}
		if len(page) == 0 || !f.goesOn() {
			break
		}
	}
	f.news = append(f.news, later...)
	f.before, f.review = 0, false
	return nil
}

// ahead records what a durable event of the journal means for the steps that the bus still has.
func (f *Follower) ahead(e *event.Event) {
	n := news{head: e.Header, attempt: e.Attempt}
	switch fold.FlightOf(e) {
	case fold.FlightBegins:
		n.attempt, n.begun = e.Attempt-1, e.Body.(*event.StepBegun)
	case fold.FlightEnds:
		if _, ended := e.Body.(*event.StepEnded); ended && n.attempt == 0 {
			n.attempt = math.MaxInt // a call is closed for all attempts
		}
	case fold.FlightEndsAll:
		n.head.Step = ""
		f.news = slices.DeleteFunc(f.news, func(o news) bool { return o.head.Run == e.Run })
	case fold.FlightSame, fold.FlightLogs:
		return
	}
	if len(f.news) >= mostNews {
		f.news = slices.Delete(f.news, 0, len(f.news)-mostNews+1)
	}
	f.news = append(f.news, n)
}

// advance records how far the bus is, and drops the news that it has sent itself.
func (f *Follower) advance(seq int64) {
	f.busSeq = max(f.busSeq, seq)
	n := 0
	for n < len(f.news) && f.news[n].head.Seq <= f.busSeq {
		n++
	}
	f.news = f.news[n:]
	if len(f.news) == 0 {
		f.news = nil
	}
}

// over reports whether an event after seq ended the step for the reader.
func (f *Follower) over(h *event.Header, seq int64) bool {
	for i := range f.news {
		n := &f.news[i]
		if n.head.Seq > seq && n.head.Run == h.Run &&
			(n.head.Step == "" || n.head.Step == h.Step && h.Attempt <= n.attempt) {
			return true
		}
	}
	return false
}

// open returns the steps in flight for the reader: those of the bus that are not over, and those
// that the bus does not know yet.
func (f *Follower) open(steps []Snapshot) []Snapshot {
	if len(f.news) == 0 {
		return steps
	}
	var open []Snapshot
	for i := range steps {
		if !f.over(&steps[i].Header, 0) {
			open = append(open, steps[i])
		}
	}
	if len(open) == 0 {
		return nil // nothing to replace
	}
	for i := range f.news {
		n := &f.news[i]
		if n.begun != nil && !f.over(&n.head, n.head.Seq) {
			open = append(open, Snapshot{Header: n.head, Kind: n.begun.Step, Call: n.begun.Call, Tool: n.begun.Tool})
		}
	}
	return open
}
