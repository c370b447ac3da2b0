package livetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

func raceCases() []testCase {
	return []testCase{
		{"a thousand watchers of one conversation", func(p *probe) {
			const watchers, pieces = 1000, 200
			d := p.drive("run")
			var wg sync.WaitGroup
			for i := range watchers {
				v := p.watch()
				wg.Go(func() { v.follow(p.ctx, i%7 == 0) })
			}
			d.send(d.Begin("m1", 1))
			d.send(d.Answer("m1", 1, d.speak("m1", pieces)), d.End())
			wg.Wait()
		}},
		{"many conversations, watchers that come and go", func(p *probe) {
			const conversations, turns, watchers = 20, 5, 6
			var wg sync.WaitGroup
			for c := range conversations {
				key := live.Key{Tenant: "tenant", Conversation: strconv.Itoa(c)}
				// One watcher stays to the end, so that closing finds one.
				stay := p.watchIn(key)
				wg.Go(func() { stay.followTurns(p.ctx, turns) })
				ctx, over := context.WithCancel(p.ctx)
				for range watchers {
					wg.Go(func() { p.watchBriefly(ctx, key) })
				}
				sources := make([]*source, turns)
				for i := range turns {
					sources[i] = p.driveIn(key, fmt.Sprint("run ", i))
				}
				wg.Go(func() {
					defer over()
					converse(sources)
				})
			}
			wg.Wait()
		}},
	}
}

// converse publishes one run after another.
func converse(sources []*source) {
	seq := int64(0)
	for i, s := range sources {
		s.Seq, s.Epoch = seq, int64(i+1)
		for step := range 3 {
			name := fmt.Sprint("m", step)
			s.send(s.Begin(name, 1))
			s.send(s.Answer(name, 1, s.speak(name, 40)))
		}
		s.send(s.End())
		seq = s.Seq
		s.pub.Close()
	}
}

// follow reads to the end of the run. A lazy watcher reads few items at a time.
func (v *viewer) follow(ctx context.Context, lazy bool) {
	if lazy {
		v.room = v.room[:2]
	}
	v.followUntil(ctx, func(item live.Item) bool {
		if item.Sync != nil {
			return item.Sync.Last >= 3
		}
		_, ended := item.Event.Body.(*event.RunEnded)
		return ended
	})
}

func (v *viewer) followTurns(ctx context.Context, turns int64) {
	const each = 7 // durable events of a turn
	v.followUntil(ctx, func(live.Item) bool { return v.Seq >= turns*each })
}

// followUntil does not end the case, because it runs beside it. A watcher whose ctx is cancelled
// has seen enough.
func (v *viewer) followUntil(ctx context.Context, end func(live.Item) bool) {
	for {
		n, err := v.w.Read(ctx, v.room)
		if errors.Is(err, event.ErrCancelled) {
			return
		}
		if err != nil {
			v.p.Errorf("Read: %v", err)
			return
		}
		for _, item := range v.room[:n] {
			if err := v.Show(item); err != nil {
				v.p.Errorf("%v", err)
				return
			}
			if end(item) {
				return
			}
		}
	}
}

// watchBriefly watches for a few items, again and again, until nothing more comes.
func (p *probe) watchBriefly(ctx context.Context, key live.Key) {
	for i := 0; ctx.Err() == nil; i++ {
		w, err := p.Bus.Watch(p.ctx, key)
		if err != nil {
			p.Errorf("Watch: %v", err)
			return
		}
		v := &viewer{p: p, w: w, room: make([]live.Item, 4)}
		items := 0
		v.followUntil(ctx, func(live.Item) bool {
			items++
			return items > 3*(i%20)
		})
		w.Close()
	}
}
