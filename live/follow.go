package live

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
)

// Log reads at most limit durable events of the conversation after seq after, in
// order: the Read of a journal, for one conversation.
type Log func(ctx context.Context, after int64, limit int) ([]*event.Event, error)

// FollowOptions are the settings of [Follow]; the zero value is right for most.
type FollowOptions struct {
	// After is the Seq of the last durable event that the reader has; 0 begins
	// at the beginning.
	After int64
	// Current says that the log had nothing after After shortly before: the journal is
	// asked only where the bus tells of something that is missing.
	Current bool
	// Poll is how long to wait for the bus, at most, before the journal is asked
	// whether the bus has missed something; 0 means [DefaultPoll], less means never.
	// Where something came meanwhile it may be half of that.
	Poll time.Duration
	// Beyond says whether the journal may have events after a Seq. Where it is set it is
	// asked after each Poll, and the journal only where it says yes: for a reader among many,
	// for all of whom somebody asks at once. It must be quick.
	Beyond func(after int64) bool
	// Page is how many events are read from the journal at a time; 0 or less
	// means [DefaultPage].
	Page int
	// More says whether the log goes on behind the page that was read last: for a log whose pages may be shorter than Page.
	// Without it a page that is shorter is the last.
	More func() bool
}

// What [Follow] does where nothing else was said.
const (
	DefaultPoll = 2 * time.Second
	DefaultPage = 256
)

// Follower follows a conversation from a place in its log on. It is used by one
// goroutine at a time; Close may be called by another.
type Follower struct {
	watcher Watcher
	log     Log
	poll    time.Duration
	beyond  func(after int64) bool
	page    int
	more    func() bool

	// have is the Seq of the last durable event that was given.
	have int64
	// behind says that the journal may have events after it; until is the
	// one that it must reach.
	behind bool
	// timer wakes a watcher that can be woken, where the waiting for the bus is to end. It
	// is not moved for a later time than armed: one that rings early finds nothing due.
	// A context with a deadline for each wait would cost as much as sending an event.
	timer *time.Timer
	armed time.Time
	// asks is when the journal is asked, unless the bus has moved since it was set: what
	// comes does not put it off, because asking for the time costs a part of what an event
	// does.
	asks  time.Time
	moved bool

	// inbox is what the bus gave and has not been looked at.
	inbox []Item
	room  []Item
	// read is what the journal gave and has not been handed out.
	read []*event.Event
	// sync is to be given once the log has caught up with it.
	sync *Sync

	// heard is the Seq of the last durable event that the bus told of; news is
	// what the journal said beyond it about steps that the bus speaks of.
	heard int64
	news  []news
	// before is where the reader began: its news are not known from what was
	// given. review is set where the bus turns out to be behind that.
	before int64
	review bool
}

// news is that a step, or with no name all steps of a run, is over for attempts
// up to one, and where it is set that another attempt has begun.
type news struct {
	head    event.Header
	attempt int
	begun   *event.StepBegun
}

// mostNews bounds the news that are kept: the bus is behind the journal by a
// commit or a moment on the network, not by more.
const mostNews = 64

// roomItems is how many items are taken from the bus at a time: few, because every reader
// has the room for as long as it reads.
const roomItems = 16

// Follow begins to follow a conversation. Its reader gets, by [Follower.Read]:
//
//   - every durable event after options.After, once, in the order of Seq, however
//     often the bus lost, repeated or cut something off;
//   - live events of steps that have begun and not ended, as those stand in what
//     was given before; none is given that an earlier [Sync] covers;
//   - a Sync where the text of steps in flight is to be replaced. Its Last is the
//     Seq of the event given before it.
//
// It must be closed. The error is the bus's.
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
		f.timer = time.AfterFunc(time.Hour, t.ring)
		f.timer.Stop()
	}
	if ok && options.Current {
		// From here on events are kept for the reader, though it does not read yet.
		n, err := t.tryRead(f.room)
		if err != nil {
			w.Close()
			return nil, err
		}
		f.inbox = f.room[:n]
	}
	return f, nil
}

// Read waits until there is something, and then gives all that is ready, at most
// len(items). The error is ctx's, the bus's or the log's; another Read goes on
// where this one was.
func (f *Follower) Read(ctx context.Context, items []Item) (int, error) {
	return f.ReadBy(ctx, items, time.Time{})
}

// ReadBy is [Follower.Read], but gives nothing, and no error, when there is nothing by
// the given time. The zero time is never.
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

// Ready gives what is there without waiting and without asking the journal, at most
// len(items); 0 where that is nothing.
func (f *Follower) Ready(items []Item) int {
	n := f.collect(items)
	if n > 0 || f.behind || f.review || len(items) == 0 {
		return n
	}
	t, ok := f.watcher.(wakingWatcher)
	if !ok {
		return 0
	}
	if n, err := t.tryRead(f.room); n > 0 && err == nil { // the next Read meets the error again
		f.inbox = f.room[:n]
	}
	return f.collect(items)
}

// collect gives the items that are there.
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

// Close ends the following.
func (f *Follower) Close() {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.watcher.Close()
}

// wakingWatcher is a watcher whose waiting ends without a context of its own.
type wakingWatcher interface {
	// readWoken is Read, but gives nothing, and no error, when it was woken for nothing.
	// It is for readers whose ctx stays the same.
	readWoken(ctx context.Context, items []Item) (int, error)
	// tryRead is Read without waiting.
	tryRead(items []Item) (int, error)
	// ring wakes the one who reads, now or the next time it waits.
	ring()
}

// next gives the next item that is there.
func (f *Follower) next() (Item, bool) {
	for {
		if len(f.read) > 0 {
			e := f.read[0]
			f.read = f.read[1:]
			if len(f.read) == 0 {
				f.read = nil // and its page with it
			}
			f.have = e.Seq
			if e.Seq > f.heard {
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
		f.inbox[0] = Item{} // the room must not keep it for as long as nothing comes
		f.inbox = f.inbox[1:]
		switch {
		case item.Sync != nil:
			f.hear(item.Sync.Last)
			f.sync, f.behind = item.Sync, f.have < item.Sync.Last
			f.review = item.Sync.Last > 0 && item.Sync.Last < f.before
		case item.Event.Live():
			if !f.over(&item.Event.Header, 0) {
				return item, true
			}
		default:
			e := item.Event
			f.hear(e.Seq)
			if e.Seq == f.have+1 {
				f.have = e.Seq
				return item, true
			}
			f.behind = e.Seq > f.have
		}
	}
}

// fetch reads from the journal where the reader is behind it, and from the bus
// otherwise. When the bus is silent for long, the journal is asked. It reports whether
// there was nothing by the given time.
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

// wait reads from the bus. With no item and no error it may be due, or not yet.
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

// goesOn reports whether the log goes on behind the page that was read last, although that was shorter than it may be.
func (f *Follower) goesOn() bool { return f.more != nil && f.more() }

// look reads again what the reader had before and the bus has not told of yet.
func (f *Follower) look(ctx context.Context) error {
	later := f.news
	f.news = nil
	for from := max(f.heard, f.before-mostNews); from < f.before; {
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

// ahead notes what a durable event that the bus has not told of does to the
// steps that the bus still speaks of.
func (f *Follower) ahead(e *event.Event) {
	n := news{head: e.Header, attempt: e.Attempt}
	if _, ended := e.Body.(*event.RunEnded); e.Step == "" && !ended {
		return // of no step: an answer that no model gave, a question of no call
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		n.attempt, n.begun = e.Attempt-1, b
	case *event.AssistantMessage:
		if b.Piece {
			return
		}
	case *event.StepEnded:
		if n.attempt == 0 {
			n.attempt = math.MaxInt // a call is closed whatever its attempt
		}
	case *event.Asked:
	case *event.RunEnded:
		n.head.Step = ""
		f.news = slices.DeleteFunc(f.news, func(o news) bool { return o.head.Run == e.Run })
	default:
		return
	}
	if len(f.news) >= mostNews {
		f.news = slices.Delete(f.news, 0, len(f.news)-mostNews+1)
	}
	f.news = append(f.news, n)
}

// hear notes how far the bus is, and forgets the news that it knows itself.
func (f *Follower) hear(seq int64) {
	f.heard = max(f.heard, seq)
	n := 0
	for n < len(f.news) && f.news[n].head.Seq <= f.heard {
		n++
	}
	f.news = f.news[n:]
	if len(f.news) == 0 {
		f.news = nil
	}
}

// over reports whether the reader has been told, after seq, that the step is over.
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

// open is the steps in flight as the reader has been told of them: those of the
// bus that are not over, and those that it has not heard of.
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
		return nil // there is nothing to replace
	}
	for i := range f.news {
		n := &f.news[i]
		if n.begun != nil && !f.over(&n.head, n.head.Seq) {
			open = append(open, Snapshot{Header: n.head, Kind: n.begun.Step, Call: n.begun.Call, Tool: n.begun.Tool})
		}
	}
	return open
}
