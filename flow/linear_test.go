package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// forgetful is a store that keeps no events, so that only the driver's memory counts.
type forgetful struct {
	*journal.Memory

	last int64
}

func (f *forgetful) Commit(_ context.Context, _ journal.Lease, b journal.Batch) error {
	if n := len(b.Events); n > 0 {
		f.last = b.Events[n-1].Seq
	}
	if b.Status == "" { // a commit in the middle of the run
		return nil
	}
	return errGone
}

var errGone = &event.Error{Kind: event.ErrInternal, Message: "the store keeps nothing"}

// A finished item costs at most 2 KiB of memory while the run goes on.
func TestWhatAFinishedNodeKeeps(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	if race.On {
		t.Skip("the race detector uses memory of its own")
	}
	const n = 10_000
	var before, after runtime.MemStats
	count := 0
	one := Func("one", func(_ context.Context, in string) (string, error) {
		switch count++; count {
		case 100, n:
			runtime.GC()
			m := &before
			if count == n {
				m = &after
			}
			runtime.ReadMemStats(m)
		}
		return in, nil
	}, tool.Pure())
	raw, err := json.Marshal(make([]int, n))
	if err != nil {
		t.Fatal(err)
	}
	store := &forgetful{Memory: journal.NewMemory(journal.MemoryOptions{})}
	m := Map("m", one, MapOptions{Parallel: 1}).Use(braid.Limit(braid.Limits{Scopes: n + 1, Active: time.Hour}))
	_, _ = m.Run(t.Context(), string(raw), braid.In(braid.Open(store, "c"))) // its end cannot be written
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (n - 100); after.HeapAlloc == 0 || kept > 2048 {
		t.Errorf("a finished node keeps %d bytes", kept)
	} else {
		t.Logf("a finished node keeps %d bytes", kept)
	}
}

// The allocations of a graph and of a map grow with their size alone.
func TestGraphsAndMapsAreLinear(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	if race.On {
		t.Skip("the race detector allocates")
	}
	one := Func("one", func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())
	chain := func(n int) func() error {
		g := Graph{Name: "g"}
		for i := range n {
			g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(i), Agent: one})
			if i > 0 {
				g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i - 1), To: fmt.Sprint(i)})
			}
		}
		a := g.Agent().Use(braid.Limit(braid.Limits{Scopes: n + 1}))
		return func() error { _, err := a.Run(context.Background(), "go"); return err }
	}
	items := func(n int) func() error {
		raw, err := json.Marshal(make([]int, n))
		a := Map("m", one, MapOptions{Parallel: 1}).Use(braid.Limit(braid.Limits{Scopes: n + 1}))
		return func() error {
			if err == nil {
				_, err = a.Run(context.Background(), string(raw))
			}
			return err
		}
	}
	// Go code decides after each node, and after each round.
	conditions := func(n int) func() error {
		g := Graph{Name: "g"}
		yes := func(context.Context, Visit) (bool, error) { return true, nil }
		for i := range n {
			g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(i), Agent: one})
			if i > 0 {
				g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i - 1), To: fmt.Sprint(i), If: Condition{Label: "yes", Test: yes}})
			}
		}
		a := g.Agent().Use(braid.Limit(braid.Limits{Scopes: n + 1}))
		return func() error { _, err := a.Run(context.Background(), "go"); return err }
	}
	rounds := func(n int) func() error {
		count := 0
		until := func(context.Context, string) (bool, error) { count++; return count == n, nil }
		a := Loop("l", LoopOptions{Max: n, Until: until}, one).Use(braid.Limit(braid.Limits{Scopes: n + 1}))
		return func() error { _, err := a.Run(context.Background(), "go"); return err }
	}
	for name, made := range map[string]func(int) func() error{"graph": chain, "map": items, "conditions": conditions, "until": rounds} {
		bytes := func(n int) float64 {
			run := made(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := run(); err != nil {
				t.Fatal(name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
		}
		small, large := bytes(500), bytes(4000)
		t.Logf("%s: %.0f and %.0f bytes a node", name, small, large)
		if large > 1.5*small {
			t.Errorf("%s: %.0f bytes a node of 500, %.0f of 4,000", name, small, large)
		}
	}
}
