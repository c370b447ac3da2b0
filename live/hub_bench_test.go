package live_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

// Publishing in nanoseconds for each event, by the number of watchers who all
// read along. What is reported as ns/watcher includes their reading.
func BenchmarkPublish(b *testing.B) {
	for _, watchers := range []int{0, 1, 10, 100, 1000} {
		b.Run(strconv.Itoa(watchers), func(b *testing.B) {
			var hub live.Hub
			key := live.Key{Tenant: "t", Conversation: "c"}
			p := hub.Publisher(key)
			s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
			var wg sync.WaitGroup
			for range watchers {
				w, err := hub.Watch(b.Context(), key)
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					items := make([]live.Item, 64)
					for {
						if _, err := w.Read(context.Background(), items); err != nil {
							return
						}
					}
				})
			}
			p.Publish(s.Begin("m1", 1))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if i%1000 == 999 {
					p.Publish(s.Answer("m1", 1, ""))
					p.Publish(s.Begin("m1", 1))
				}
				p.Publish(s.Text("m1", 1, "a few words "))
			}
			b.StopTimer()
			if watchers > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(watchers), "ns/watcher")
			}
			p.Close()
			_ = hub.Close()
			wg.Wait()
		})
	}
}

// How long an event is on its way at 5,000 a second over 1,000 conversations,
// each with one watcher.
func BenchmarkOnTheWay(b *testing.B) {
	const conversations, rate = 1000, 5000
	var hub live.Hub
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	scripts := make([]livetest.Script, conversations)
	publishers := make([]live.Publisher, conversations)
	for i := range conversations {
		id := fmt.Sprint("c", i)
		key := live.Key{Tenant: "t", Conversation: id}
		w, err := hub.Watch(b.Context(), key)
		if err != nil {
			b.Fatal(err)
		}
		scripts[i] = livetest.Script{Conversation: id, Run: "r", Epoch: 1}
		publishers[i] = hub.Publisher(key)
		publishers[i].Publish(scripts[i].Begin("m1", 1))
		wg.Go(func() {
			items := make([]live.Item, 64)
			for {
				n, err := w.Read(context.Background(), items)
				if err != nil {
					return
				}
				now := time.Now()
				for _, item := range items[:n] {
					if item.Event == nil || !item.Event.Live() {
						continue
					}
					mu.Lock()
					took = append(took, now.Sub(item.Event.Time))
					mu.Unlock()
				}
			}
		})
	}
	b.ResetTimer()
	begun := time.Now()
	for i := range b.N {
		for d := time.Until(begun.Add(time.Duration(i) * time.Second / rate)); d > 0; {
			time.Sleep(d)
			d = 0
		}
		c := i % conversations
		e := scripts[c].Text("m1", 1, "a few words ")
		e.Time = time.Now()
		publishers[c].Publish(e)
	}
	b.StopTimer()
	_ = hub.Close()
	wg.Wait()
	if len(took) > 0 {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	}
}

// From one Publish until every watcher of the conversation has the event.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(watchers), func(b *testing.B) {
			var hub live.Hub
			p := hub.Publisher(here)
			s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
			p.Publish(s.Begin("m1", 1))
			var got, readers sync.WaitGroup
			for range watchers {
				w, err := hub.Watch(b.Context(), here)
				if err != nil {
					b.Fatal(err)
				}
				items := make([]live.Item, 4)
				if _, err := w.Read(b.Context(), items); err != nil {
					b.Fatal(err)
				}
				readers.Go(func() {
					for {
						if _, err := w.Read(context.Background(), items); err != nil {
							return
						}
						got.Done()
					}
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				got.Add(watchers)
				p.Publish(s.Text("m1", 1, "x"))
				got.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(watchers), "ns/watcher")
			p.Close()
			_ = hub.Close()
			readers.Wait()
		})
	}
}
