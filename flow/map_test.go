package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

func TestAMap(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	one := Func("one", func(_ context.Context, in string) (string, error) {
		n := now.Add(1)
		for m := most.Load(); n > m; m = most.Load() {
			if most.CompareAndSwap(m, n) {
				break
			}
		}
		defer now.Add(-1)
		if strings.Contains(in, "bad") {
			return "", errors.New("no luck")
		}
		return "<" + in + ">", nil
	}, tool.Pure())
	for name, c := range map[string]struct {
		o     MapOptions
		input string
		want  string
		err   string
	}{
		"texts":      {MapOptions{}, `["a","b","c"]`, `["<a>","<b>","<c>"]`, ""},
		"values":     {MapOptions{}, `[1,{"x":2}]`, `["<1>","<{\"x\":2}>"]`, ""},
		"nothing":    {MapOptions{}, `[]`, `[]`, ""},
		"no list":    {MapOptions{}, `so`, "", "not a JSON array"},
		"one fails":  {MapOptions{Parallel: 1}, `["a","bad","c"]`, "", "item 1: no luck"},
		"keeps":      {MapOptions{KeepErrors: true}, `["a","bad","c"]`, `["<a>",{"error":"no luck"},"<c>"]`, ""},
		"too many":   {MapOptions{}, "[" + strings.Repeat("1,", MaxItems) + "1]", "", "10001 items"},
		"of Go code": {MapOptions{Items: func(_ context.Context, in []event.Block) ([]any, error) { return []any{event.TextOf(in), 7}, nil }}, "x", `["<x>","<7>"]`, ""},
		"Go code that fails": {
			MapOptions{Items: func(context.Context, []event.Block) ([]any, error) { return nil, errors.New("oh") }}, "x", "", "items could not be made: oh",
		},
		"negative": {MapOptions{Parallel: -1}, "[]", "", "Parallel is negative"},
	} {
		r, err := Map("m", one, c.o).Run(t.Context(), c.input)
		switch {
		case c.err == "" && (err != nil || r.Text() != c.want):
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", name, err)
		}
	}
	list := make([]int, 200)
	raw, _ := json.Marshal(list)
	most.Store(0)
	if _, err := Map("m", one, MapOptions{Parallel: 3}).Run(t.Context(), string(raw)); err != nil || most.Load() > 3 {
		t.Errorf("%d at once, %v", most.Load(), err)
	}
}

// The items are made once: a map that goes on after a crash has those of the log, and does no item again.
func TestTheItemsOfAMapAreMadeOnce(t *testing.T) {
	t.Parallel()
	var made, done atomic.Int32
	m := func() *braid.Agent {
		return Map("m", Func("one", func(context.Context, string) (string, error) { return fmt.Sprint(done.Add(1)), nil }, tool.Pure()), MapOptions{
			Parallel: 2,
			Items: func(context.Context, []event.Block) ([]any, error) {
				made.Add(1)
				return []any{"a", "b", "c", "d", "e"}, nil
			},
		})
	}
	everyCut(t, "m", m, func(t *testing.T, r *braid.Result, err error) {
		t.Helper()
		var list []any
		if err != nil || json.Unmarshal([]byte(r.Text()), &list) != nil || len(list) != 5 {
			t.Errorf("%q, %v", r.Text(), err)
		}
	})
}
