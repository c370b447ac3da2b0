package journal_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

var sink any

func BenchmarkNewMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink = journal.NewMemory(journal.MemoryOptions{})
	}
}

// BenchmarkFirstTurn is what a library run pays that brings its own store.
func BenchmarkFirstTurn(b *testing.B) {
	b.ReportAllocs()
	turn := newTurn("run")
	for b.Loop() {
		turn.play(b, journal.NewMemory(journal.MemoryOptions{}), 0)
	}
}

// BenchmarkWarmTurn is admission, acquisition and the two commits of a run
// without tools, by a driver that has the history already.
func BenchmarkWarmTurn(b *testing.B) {
	for _, prior := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("prior=%d", prior), func(b *testing.B) {
			// The history is made anew before the measured turns have made it
			// much longer than it says.
			const turnsPerStore = 256
			turns := make([]*turn, turnsPerStore)
			for i := range turns {
				turns[i] = newTurn("run" + strconv.Itoa(i))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var store *journal.Memory
			var last int64
			for i := range b.N {
				if i%turnsPerStore == 0 {
					b.StopTimer()
					store, last = withHistory(b, prior)
					b.StartTimer()
				}
				last = turns[i%turnsPerStore].play(b, store, last)
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 4} {
		b.Run(fmt.Sprintf("events=%d", size), func(b *testing.B) {
			ctx := context.Background()
			const perStore = 1 << 14
			events := make([]event.Event, size)
			batch := make([]*event.Event, size)
			b.ReportAllocs()
			b.ResetTimer()
			var store *journal.Memory
			var opened journal.Opened
			var seq int64
			for i := range b.N {
				if i%perStore == 0 {
					b.StopTimer()
					store, seq = journal.NewMemory(journal.MemoryOptions{}), 0
					must(b)(store.Admit(ctx, journal.Run{ID: "run", Conversation: "talk"}))
					opened = must(b)(store.Acquire(ctx, "run", 0)).(journal.Opened)
					b.StartTimer()
				}
				for j := range events {
					seq++
					events[j] = event.Event{
						Header: event.Header{Seq: seq, Conversation: "talk", Run: "run"},
						Body:   notice,
					}
					batch[j] = &events[j]
				}
				if err := store.Commit(ctx, opened.Lease, journal.Batch{Events: batch}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommitParallel has every goroutine write its own conversation in
// one store.
func BenchmarkCommitParallel(b *testing.B) {
	ctx := context.Background()
	store := journal.NewMemory(journal.MemoryOptions{})
	b.ReportAllocs()
	names := make(chan string, 1024)
	for i := range cap(names) {
		names <- strconv.Itoa(i)
	}
	b.RunParallel(func(pb *testing.PB) {
		name := <-names
		must(b)(store.Admit(ctx, journal.Run{ID: name, Conversation: name}))
		lease := must(b)(store.Acquire(ctx, name, 0)).(journal.Opened).Lease
		var seq int64
		for pb.Next() {
			seq++
			e := &event.Event{Header: event.Header{Seq: seq, Conversation: name, Run: name}, Body: notice}
			if err := store.Commit(ctx, lease, journal.Batch{Events: []*event.Event{e}}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

var notice = &event.Notice{Code: "tick"}

// turn holds the events of one run, made before the clock runs: what is
// measured is the store.
type turn struct {
	run    journal.Run
	begin  []*event.Event
	finish []*event.Event
}

func newTurn(run string) *turn {
	head := event.Header{Conversation: "talk", Run: run}
	step := head
	step.Step, step.Attempt = "m1", 1
	return &turn{
		run: journal.Run{ID: run, Conversation: "talk", Agent: "agent"},
		begin: []*event.Event{
			{Header: head, Body: &event.RunStarted{}},
			{Header: head, Body: &event.UserMessage{}},
			{Header: step, Body: &event.StepBegun{Step: event.StepModel}},
		},
		finish: []*event.Event{
			{Header: step, Body: &event.AssistantMessage{}},
			{Header: head, Body: &event.RunEnded{Status: event.RunCompleted}},
		},
	}
}

func (t *turn) play(tb testing.TB, s *journal.Memory, have int64) int64 {
	ctx := context.Background()
	if _, err := s.Admit(ctx, t.run); err != nil {
		tb.Fatal(err)
	}
	opened, err := s.Acquire(ctx, t.run.ID, have)
	if err != nil {
		tb.Fatal(err)
	}
	seq := opened.Last
	for _, e := range t.begin {
		seq++
		e.Seq = seq
	}
	if err := s.Commit(ctx, opened.Lease, journal.Batch{Events: t.begin}); err != nil {
		tb.Fatal(err)
	}
	for _, e := range t.finish {
		seq++
		e.Seq = seq
	}
	if err := s.Commit(ctx, opened.Lease, journal.Batch{Events: t.finish, Status: event.RunCompleted}); err != nil {
		tb.Fatal(err)
	}
	return seq
}

// withHistory is a store whose conversation has at least prior events, in
// runs of five.
func withHistory(tb testing.TB, prior int) (*journal.Memory, int64) {
	s := journal.NewMemory(journal.MemoryOptions{})
	var last int64
	for i := 0; last < int64(prior); i++ {
		last = newTurn("old"+strconv.Itoa(i)).play(tb, s, last)
	}
	return s, last
}

func must(tb testing.TB) func(any, error) any {
	return func(v any, err error) any {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}
