package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// From Submit to the beginning of the drive, over the memory journal, where there
// is room to run.
func BenchmarkSubmitToStart(b *testing.B) {
	var store journal.Memory
	var mu sync.Mutex
	begun := make(map[string]time.Time, b.N)
	took := make([]time.Duration, 0, b.N)
	done := make(chan struct{}, 1)
	local := engine.NewLocal(&store, func(_ context.Context, w engine.Work) (engine.Outcome, error) {
		mu.Lock()
		took = append(took, time.Since(begun[w.Run.ID]))
		mu.Unlock()
		defer func() { done <- struct{}{} }()
		return engine.Outcome{Status: event.RunCompleted}, nil
	}, engine.Options{Sweep: time.Hour})
	if err := local.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		id := strconv.Itoa(i)
		mu.Lock()
		begun[id] = time.Now()
		mu.Unlock()
		if _, err := local.Submit(b.Context(), journal.Run{ID: id, Conversation: id, Tenant: "t"}); err != nil {
			b.Fatal(err)
		}
		<-done
	}
	if err := local.Drain(context.Background()); err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// Runs through the engine, 16 at a time, out of a backlog of 10,000 over so many
// tenants.
func BenchmarkBacklog(b *testing.B) {
	for _, tenants := range []int{1, 100} {
		b.Run(strconv.Itoa(tenants), func(b *testing.B) {
			const backlog = 10_000
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				var store journal.Memory
				var wg sync.WaitGroup
				wg.Add(backlog)
				local := engine.NewLocal(&store, func(context.Context, engine.Work) (engine.Outcome, error) {
					wg.Done()
					return engine.Outcome{Status: event.RunCompleted}, nil
				}, engine.Options{Running: 16, Sweep: time.Hour})
				for i := range backlog {
					id := strconv.Itoa(i)
					run := journal.Run{ID: id, Conversation: id, Tenant: fmt.Sprint("t", i%tenants)}
					if _, err := local.Submit(b.Context(), run); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if err := local.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				wg.Wait()
				b.StopTimer()
				if err := local.Drain(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/backlog, "ns/run")
		})
	}
}

// A start with 1,000 open runs in the journal, until all of them are being driven.
func BenchmarkStartWithOpenRuns(b *testing.B) {
	const open = 1000
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var store journal.Memory
		for i := range open {
			id := strconv.Itoa(i)
			if _, err := store.Admit(b.Context(), journal.Run{ID: id, Conversation: id, Tenant: "t"}); err != nil {
				b.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		wg.Add(open)
		local := engine.NewLocal(&store, func(ctx context.Context, _ engine.Work) (engine.Outcome, error) {
			wg.Done()
			<-ctx.Done()
			return engine.Outcome{}, nil
		}, engine.Options{Sweep: time.Hour, Grace: -1})
		b.StartTimer()
		if err := local.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		wg.Wait()
		b.StopTimer()
		if err := local.Drain(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
