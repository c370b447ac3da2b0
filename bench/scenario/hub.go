package scenario

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// What the hub is timed with.
const (
	hubTalks = 1_000
	hubRate  = 5_000
)

// OnTheWay publishes hubRate events a second to hubTalks conversations with a watcher
// each, for so long, and gives how long events were on their way, from the call
// of Publish until their watcher had them: the median and the 99th percentile.
func OnTheWay(ctx context.Context, long time.Duration) (p50, p99 time.Duration, err error) {
	var hub live.Hub
	var mu sync.Mutex
	var took []time.Duration
	var watchers sync.WaitGroup
	publishers := make([]live.Publisher, hubTalks)
	for i := range publishers {
		key := live.Key{Tenant: "bench", Conversation: fmt.Sprint("talk-", i)}
		w, err := hub.Watch(ctx, key)
		if err != nil {
			return 0, 0, err
		}
		watchers.Go(func() {
			_ = watch(w, func(e *event.Event) {
				on := time.Since(e.Time)
				mu.Lock()
				took = append(took, on)
				mu.Unlock()
			})
		})
		publishers[i] = hub.Publisher(key)
		begun := event.Event{Body: &event.StepBegun{Step: event.StepModel, Model: "bench"}}
		begun.Header = headOf(key.Conversation)
		begun.Seq = 1
		publishers[i].Publish(begun)
	}
	begin := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		at := begin.Add(time.Duration(n) * time.Second / hubRate)
		if at.Sub(begin) > long {
			break
		}
		time.Sleep(time.Until(at))
		i := n % hubTalks
		e := event.Event{Header: headOf(fmt.Sprint("talk-", i)), Body: &event.TextDelta{Text: "a few words "}}
		e.Epoch, e.N = 1, int64(n/hubTalks)+1
		e.Time = time.Now()
		publishers[i].Publish(e)
	}
	for _, p := range publishers {
		p.Close()
	}
	_ = hub.Close()
	watchers.Wait()
	if len(took) == 0 {
		return 0, 0, errNoEvents
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], ctx.Err()
}

func headOf(conversation string) event.Header {
	return event.Header{Conversation: conversation, Run: "run", Step: "m1", Attempt: 1, Cycle: 1, Author: "bench"}
}

// watch reads until the bus is closed and shows each live event.
func watch(w live.Watcher, show func(*event.Event)) error {
	defer w.Close()
	items := make([]live.Item, 64)
	for {
		n, err := w.Read(context.Background(), items)
		if err != nil {
			return err
		}
		for _, item := range items[:n] {
			if item.Event != nil && item.Event.Live() {
				show(item.Event)
			}
		}
	}
}

// braidWatched is a run that an engine drives, with all its events going into a hub that
// somebody watches.
func braidWatched(script []answer) Side {
	m := &scripted{answers: braidChunks(script)}
	return Side{Name: "braid", Each: work(script), Batch: func(n int) func() (Work, error) {
		agent := braidAgent(m)
		var hub live.Hub
		return func() (Work, error) {
			var w Work
			var watchers sync.WaitGroup
			var failed error
			for i := range n {
				if failed = watchedRun(&w, agent, &hub, &watchers, fmt.Sprint("talk-", i)); failed != nil {
					break
				}
			}
			_ = hub.Close()
			watchers.Wait()
			return w, failed
		}
	}}
}

func watchedRun(w *Work, agent *braid.Agent, hub *live.Hub, watchers *sync.WaitGroup, id string) error {
	ctx, key := context.Background(), live.Key{Conversation: id}
	conv := braid.Open(&journal.Memory{}, id)
	sent, err := agent.Send(ctx, conv, "go")
	if err != nil {
		return err
	}
	reader, err := hub.Watch(ctx, key)
	if err != nil {
		return err
	}
	watchers.Go(func() { _ = watch(reader, func(*event.Event) {}) })
	defer reader.Close()
	p := hub.Publisher(key)
	defer p.Close()
	return readBraid(w, func(yield func(event.Event, error) bool) {
		_, err := agent.Drive(ctx, conv, sent.Run, braid.Work{Sink: func(e event.Event) {
			p.Publish(e)
			yield(e, nil)
		}})
		if err != nil {
			yield(event.Event{}, err)
		}
	})
}
