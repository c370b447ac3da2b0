package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/tool"
)

func chain(n int) *braid.Agent {
	one := Func("one", func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())
	g := Graph{Name: "g"}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(i), Agent: one})
		if i > 0 {
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i - 1), To: fmt.Sprint(i)})
		}
	}
	return g.Agent().Use(braid.Limit(braid.Limits{Scopes: n + 10}))
}

func TestTryLinear(t *testing.T) {
	for _, n := range []int{250, 1000, 4000} {
		a := chain(n)
		began := time.Now()
		r, err := a.Run(t.Context(), "go")
		if err != nil || r.Text() != "go" {
			t.Fatal(err)
		}
		took := time.Since(began)
		t.Log("chain", n, took, took/time.Duration(n))
	}
	one := Func("one", func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())
	for _, n := range []int{1000, 10000} {
		list := make([]int, n)
		raw, _ := json.Marshal(list)
		m := Map("m", one, MapOptions{Parallel: 16}).Use(braid.Limit(braid.Limits{Scopes: n + 10}))
		conv := braid.NewConversation()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := m.Run(t.Context(), string(raw), braid.In(conv))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Log("map", n, took, took/time.Duration(n), (int64(after.HeapAlloc)-int64(before.HeapAlloc))/int64(n))
		runtime.KeepAlive(conv)
	}
}
