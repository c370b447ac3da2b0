package livetest

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// mutant is a bus with a planted bug.
type mutant struct {
	name string
	// catchers are the cases that are about it, as "group/case".
	catchers []string
	plant    func(b *bent)
}

// TestTheSuiteCatchesPlantedBugs shows that each bug makes the suite fail, in the
// very cases that are about it, and that there is no case that cannot fail.
func TestTheSuiteCatchesPlantedBugs(t *testing.T) {
	t.Parallel()
	cases := map[string]testCase{}
	for _, g := range groups() {
		for _, c := range g.cases {
			cases[g.name+"/"+c.name] = c
		}
	}
	caught := map[string]bool{}
	for _, m := range mutants() {
		for _, name := range m.catchers {
			c, known := cases[name]
			if !known {
				t.Fatalf("%s: there is no case %q", m.name, name)
			}
			caught[name] = true
			t.Run(m.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				// What happens at once happens in another order each time: a case
				// about that may need a few goes.
				goes := 1
				if strings.HasPrefix(name, "race/") {
					goes = 50
				}
				for range goes {
					b := &bent{Hub: new(live.Hub)}
					m.plant(b)
					r := try(t.Context(), c, Harness{Bus: b, Patience: 500 * time.Millisecond})
					_ = b.Hub.Close()
					if len(r.reasons) > 0 {
						t.Logf("%.200s", r.reasons[0])
						return
					}
				}
				t.Fatal("nothing sees it")
			})
		}
	}
	for name := range cases {
		if !caught[name] {
			t.Errorf("no planted bug fails %q: can it fail?", name)
		}
	}
}

// bent is a hub with some of its ways replaced.
type bent struct {
	*live.Hub

	key func(live.Key) live.Key
	// publish says what really is published; nil for nothing.
	publish func(e event.Event, publisher int) *event.Event
	// read changes what a watcher is given; it may use room to the end.
	read func(w *bentWatcher, room []live.Item, n int) int
	// shut says what closing does; nil is the real thing.
	shutWatcher, shutPublisher, shutBus func()
	onWatchError                        bool
	noRoom                              bool
	greedy                              bool
	silentFrom                          int

	mu         sync.Mutex
	publishers int
	watchers   []*bentWatcher
	smuggled   []event.Event
	begun      []live.Snapshot
	given      []*live.Sync
	n          int64
	count      int
}

func (b *bent) Publisher(key live.Key) live.Publisher {
	if b.key != nil {
		key = b.key(key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publishers++
	return &bentPublisher{Publisher: b.Hub.Publisher(key), b: b, number: b.publishers}
}

func (b *bent) Watch(ctx context.Context, key live.Key) (live.Watcher, error) {
	if b.key != nil {
		key = b.key(key)
	}
	w, err := b.Hub.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	bw := &bentWatcher{Watcher: w, b: b, number: len(b.watchers)}
	b.watchers = append(b.watchers, bw)
	return bw, nil
}

func (b *bent) Close() error {
	if b.shutBus != nil {
		b.shutBus()
		return nil
	}
	return b.Hub.Close()
}

type bentPublisher struct {
	live.Publisher
	b      *bent
	number int
}

func (p *bentPublisher) Publish(e event.Event) {
	if p.b.publish != nil {
		p.b.mu.Lock()
		changed := p.b.publish(e, p.number)
		p.b.mu.Unlock()
		if changed == nil {
			return
		}
		e = *changed
	}
	p.Publisher.Publish(e)
}

func (p *bentPublisher) Close() {
	if p.b.shutPublisher != nil {
		p.b.shutPublisher()
		return
	}
	p.Publisher.Close()
}

type bentWatcher struct {
	live.Watcher
	b      *bent
	number int
	items  int
	syncs  int
	told   int
	broken bool
}

func (w *bentWatcher) Read(ctx context.Context, items []live.Item) (int, error) {
	b := w.b
	switch {
	case len(items) == 0 && b.noRoom:
		return 0, nil
	case b.silentFrom > 0 && w.number >= b.silentFrom && w.syncs > 0:
		<-ctx.Done()
		return 0, &event.Error{Kind: event.ErrTimeout, Message: "silent"}
	case w.broken:
		return 0, &event.Error{Kind: event.ErrGone, Message: "broken"}
	}
	for {
		room := items
		if b.greedy {
			room = make([]live.Item, 16)
		}
		n, err := w.Watcher.Read(ctx, room)
		if err != nil {
			w.broken = b.onWatchError
			return n, err
		}
		for _, item := range room[:n] {
			if item.Sync != nil {
				w.syncs++
			}
		}
		if b.read != nil {
			b.mu.Lock()
			n = b.read(w, room, n)
			b.mu.Unlock()
		}
		if b.greedy {
			n = min(n, copy(items, room))
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (w *bentWatcher) Close() {
	if w.b.shutWatcher != nil {
		w.b.shutWatcher()
		return
	}
	w.Watcher.Close()
}

// onSyncs changes every sync, in a copy.
func onSyncs(change func(w *bentWatcher, s *live.Sync)) func(*bentWatcher, []live.Item, int) int {
	return func(w *bentWatcher, room []live.Item, n int) int {
		for i := range room[:n] {
			if room[i].Sync != nil {
				s := *room[i].Sync
				s.Steps = slices.Clone(s.Steps)
				change(w, &s)
				room[i].Sync = &s
			}
		}
		return n
	}
}

// without keeps items back.
func without(drop func(w *bentWatcher, item live.Item) bool) func(*bentWatcher, []live.Item, int) int {
	return func(w *bentWatcher, room []live.Item, n int) int {
		return len(slices.DeleteFunc(room[:n], func(item live.Item) bool {
			w.items++
			return drop(w, item)
		}))
	}
}

// smuggle makes watchers see what the hub drops.
func smuggle(b *bent, which func(e *event.Event) bool) {
	b.publish = func(e event.Event, _ int) *event.Event {
		if which(&e) {
			b.smuggled = append(b.smuggled, e)
		}
		return &e
	}
	b.read = func(w *bentWatcher, room []live.Item, n int) int {
		for ; w.told < len(b.smuggled) && n < len(room); w.told++ {
			copy(room[1:], room[:n])
			room[0] = live.Item{Event: &b.smuggled[w.told]}
			n++
		}
		return n
	}
}

func says(e *event.Event, texts ...string) bool {
	switch b := e.Body.(type) {
	case *event.TextDelta:
		return slices.Contains(texts, b.Text)
	case *event.ToolProgress:
		return slices.Contains(texts, b.Text)
	default:
		return false
	}
}

// asNote keeps an event's place and takes its meaning.
func asNote(e event.Event) *event.Event {
	e.Body = &event.Notice{}
	return &e
}

func mutants() []mutant {
	return []mutant{
		{"the first sync is made up", []string{"order/the first item is a sync"}, func(b *bent) {
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) { s.Last = 7 })
		}},
		{"a header is not passed on whole", []string{"order/events come as they were sent"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event { e.Cycle = 0; return &e }
		}},
		{"some watchers are forgotten", []string{"order/everybody gets everything"}, func(b *bent) { b.silentFrom = 15 }},
		{"a sync does not tell the last event", []string{"order/a sync tells the last event"}, func(b *bent) {
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) { s.Last = 0 })
		}},
		{"what does not fit is lost", []string{"order/what a reader has no room for comes next"}, func(b *bent) { b.greedy = true }},
		{"no room is nothing", []string{"order/no room is refused"}, func(b *bent) { b.noRoom = true }},
		{"tenants are not told apart", []string{"order/conversations are apart"}, func(b *bent) {
			b.key = func(k live.Key) live.Key { return live.Key{Conversation: k.Conversation} }
		}},
		{"names are glued together", []string{"order/conversations are apart"}, func(b *bent) {
			b.key = func(k live.Key) live.Key { return live.Key{Conversation: k.Tenant + k.Conversation} }
		}},
		{"lives are not told apart", []string{"order/conversations are apart"}, func(b *bent) {
			b.key = func(k live.Key) live.Key { return live.Key{Tenant: k.Tenant, Conversation: k.Conversation} }
		}},
		{"names are joined with a dot", []string{"order/conversations are apart"}, func(b *bent) {
			b.key = func(k live.Key) live.Key { return live.Key{Conversation: k.Tenant + "." + k.Conversation} }
		}},
		{"the second driver is not heard", []string{"order/runs of one conversation share its order"}, func(b *bent) {
			b.publish = func(e event.Event, publisher int) *event.Event {
				if publisher > 1 {
					return nil
				}
				return &e
			}
		}},
		{"there are no snapshots", []string{
			"snapshot/who comes late gets what was said", "snapshot/every step in flight has one",
		}, func(b *bent) { b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) { s.Steps = nil }) }},
		{"silent steps are left out", []string{"snapshot/a step that has said nothing is in flight"}, func(b *bent) {
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) {
				s.Steps = slices.DeleteFunc(s.Steps, func(o live.Snapshot) bool { return len(o.Blocks) == 0 })
			})
		}},
		{"only the first block is kept", []string{"snapshot/every block is kept apart"}, func(b *bent) {
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) {
				for i := range s.Steps {
					s.Steps[i].Blocks = s.Steps[i].Blocks[:min(1, len(s.Steps[i].Blocks))]
				}
			})
		}},
		{"what is taken back stays", []string{"snapshot/what is taken back is kept no more"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if r, ok := e.Body.(*event.AnswerReplaced); ok {
					e.Body = &event.TextDelta{Text: r.Text, Block: r.Block}
				}
				return &e
			}
		}},
		{"the first progress is kept", []string{"snapshot/of a tool's progress the last is kept"}, func(b *bent) {
			first := &event.ToolProgress{}
			b.publish = func(e event.Event, _ int) *event.Event {
				if p, ok := e.Body.(*event.ToolProgress); ok && first.Call == "" {
					first = p
				} else if ok {
					e.Body = first
				}
				return &e
			}
		}},
		{"what ended stays in flight", []string{
			"snapshot/a step that has ended has none", "snapshot/a run that has ended has none",
			"stale/an event of a step that has ended is dropped", "close/the steps of a driver that went are dropped",
		}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if s, ok := e.Body.(*event.StepBegun); ok {
					b.begun = append(b.begun, live.Snapshot{Header: e.Header, Kind: s.Step})
				}
				return &e
			}
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) { s.Steps = slices.Clone(b.begun) })
		}},
		{"a question does not end a step", []string{"snapshot/a step that has ended has none"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.Asked); ok {
					return asNote(e)
				}
				return &e
			}
		}},
		{"an end without attempt does not end a step", []string{"snapshot/a step that has ended has none"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.StepEnded); ok && e.Attempt == 0 {
					return asNote(e)
				}
				return &e
			}
		}},
		{"only the first attempt is known", []string{"snapshot/another attempt begins anew"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.StepBegun); ok && e.Attempt > 1 {
					return asNote(e)
				}
				return &e
			}
		}},
		{"pieces are nothing special", []string{"snapshot/a committed piece is not said again"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if m, ok := e.Body.(*event.AssistantMessage); ok && m.Piece {
					return asNote(e)
				}
				return &e
			}
		}},
		{"a snapshot goes on growing", []string{"snapshot/who watches is given what he was given"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				for _, s := range b.given {
					for i := range s.Steps {
						s.Steps[i].Blocks[0].Text += "more"
					}
				}
				return &e
			}
			b.read = func(_ *bentWatcher, room []live.Item, n int) int {
				for _, item := range room[:n] {
					if item.Sync != nil {
						b.given = append(b.given, item.Sync)
					}
				}
				return n
			}
		}},
		{"durable events come again", []string{"stale/a durable event comes once"}, func(b *bent) {
			b.read = func(_ *bentWatcher, room []live.Item, n int) int {
				if n < len(room) && room[n-1].Event != nil {
					room[n] = room[n-1]
					n++
				}
				return n
			}
		}},
		{"live events are counted by arrival", []string{"stale/a live event comes once"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if e.Live() {
					b.n++
					e.N = b.n
				}
				return &e
			}
		}},
		{"stragglers are passed on", []string{"stale/an event of a step that has ended is dropped"}, func(b *bent) {
			smuggle(b, func(e *event.Event) bool { return says(e, "still here") })
		}},
		{"attempts are not compared", []string{"stale/an event of another attempt is dropped"}, func(b *bent) {
			smuggle(b, func(e *event.Event) bool { return says(e, "old") })
		}},
		{"steps need not begin", []string{"stale/an event of a step that never began is dropped"}, func(b *bent) {
			smuggle(b, func(e *event.Event) bool { return says(e, "who?") })
		}},
		{"a late event of the old driver is passed on", []string{"stale/an older epoch is dropped"}, func(b *bent) {
			smuggle(b, func(e *event.Event) bool { return says(e, "wrong") })
		}},
		{"epochs are all the same", []string{
			"stale/an older epoch is dropped", "stale/a newer epoch drops what the older one had in flight",
		}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if e.Live() {
					b.n++
					e.Epoch, e.N = 1, b.n
				}
				return &e
			}
		}},
		{"numbers never begin anew", []string{"stale/numbers begin anew with an epoch"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if e.Live() && e.N <= b.n {
					return nil
				}
				b.n = max(b.n, e.N)
				return &e
			}
		}},
		{"everything is passed on", []string{"stale/what is neither durable nor live is dropped"}, func(b *bent) {
			smuggle(b, func(e *event.Event) bool { return e.Body == nil || e.Live() == (e.Seq > 0) })
		}},
		{"unknown kinds are dropped", []string{"stale/an unknown kind is passed on"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.Unknown); ok {
					return nil
				}
				return &e
			}
		}},
		{"holes are passed over", []string{
			"hole/a missing durable event is announced", "hole/a missing live event is announced",
		}, func(b *bent) {
			b.read = without(func(w *bentWatcher, item live.Item) bool { return item.Sync != nil && w.items > 1 })
		}},
		{"a hole in the text is not told", []string{"hole/a missing live event is announced"}, func(b *bent) {
			b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) {
				for i := range s.Steps {
					s.Steps[i].Truncated = false
				}
			})
		}},
		{"what comes early is passed over", []string{"hole/what came before its step is not passed over"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.StepBegun); ok {
					b.begun = append(b.begun, live.Snapshot{Header: e.Header})
				}
				if !e.Live() {
					return &e
				}
				if len(b.begun) == 0 {
					return nil
				}
				b.n++
				e.N = b.n
				return &e
			}
		}},
		{"publishing waits", []string{"slow/nobody waits for a slow watcher"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				time.Sleep(time.Millisecond)
				return &e
			}
		}},
		{"there is no bound", []string{
			"slow/a slow watcher is cut back to a snapshot", "slow/durable events that were dropped are announced",
			"slow/one sync is enough however long it took", "slow/large events count too",
		}, func(b *bent) { b.Hub = live.NewHub(live.HubOptions{Events: math.MaxInt, Bytes: math.MaxInt}) }},
		{"bytes are not counted", []string{"slow/large events count too"}, func(b *bent) {
			b.Hub = live.NewHub(live.HubOptions{Bytes: math.MaxInt})
		}},
		{"what was cut off is not announced", []string{"slow/durable events that were dropped are announced"}, func(b *bent) {
			b.read = onSyncs(func(w *bentWatcher, s *live.Sync) {
				if w.syncs > 1 {
					s.Last--
				}
			})
		}},
		{"large events do not fit", []string{"slow/a large event alone is no reason to be cut off"}, func(b *bent) {
			b.publish = func(e event.Event, _ int) *event.Event {
				if _, ok := e.Body.(*event.UserMessage); ok && e.Seq > 1 {
					return nil
				}
				return &e
			}
		}},
		{"a watcher cannot be closed", []string{
			"close/a closed watcher reads no more", "close/closing a watcher ends its read",
		}, func(b *bent) { b.shutWatcher = func() {} }},
		{"closing one watcher closes all", []string{"close/closing one watcher leaves the others"}, func(b *bent) {
			b.shutWatcher = func() {
				for _, w := range b.watchers {
					w.Watcher.Close()
				}
			}
		}},
		{"giving up is for ever", []string{"close/a reader may give up and come back"}, func(b *bent) { b.onWatchError = true }},
		{"a driver never goes", []string{"close/the steps of a driver that went are dropped"}, func(b *bent) {
			b.shutPublisher = func() {}
		}},
		{"who goes takes everything along", []string{"close/a driver that goes late takes nothing of the next one's"}, func(b *bent) {
			b.shutPublisher = func() {
				b.read = onSyncs(func(_ *bentWatcher, s *live.Sync) { s.Steps = nil })
			}
		}},
		{"the bus cannot be closed", []string{"close/closing the bus ends everything"}, func(b *bent) { b.shutBus = func() {} }},
		{"now and then one is lost", []string{
			"race/a thousand watchers of one conversation", "race/many conversations, watchers that come and go",
		}, func(b *bent) {
			b.read = without(func(*bentWatcher, live.Item) bool {
				b.count++
				return b.count%97 == 0
			})
		}},
	}
}
