package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/trace"
)

// spans writes a tree without its times.
func spans(s *trace.Span, depth int) string {
	if s == nil {
		return ""
	}
	line := fmt.Sprintf("%s%s %s", strings.Repeat("  ", depth), s.Kind, s.Name)
	if s.Kind == trace.Cycle {
		line += fmt.Sprint(s.Cycle)
	}
	for _, word := range []string{string(s.Why), string(s.Stop), string(s.Outcome), string(s.Error)} {
		if word != "" {
			line += " " + word
		}
	}
	if s.Open {
		line += " open"
	}
	for _, c := range s.Children {
		line += "\n" + spans(c, depth+1)
	}
	return line
}

// troubled is an agent with a sub-agent, a model that fails once, and tools that fail.
func troubled() *braid.Agent {
	n := 0
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		switch n++; {
		case n == 1:
			return failing(&event.Error{Kind: event.ErrOverloaded, Message: "later"})
		case req.Cycle == 1:
			return chunks(asksFor("sub", `{"input":"x"}`, "fail", `{}`, "none", `{}`))
		default:
			return chunks(says("done"))
		}
	}}
	fail := braid.Func("fail", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no") })
	sub := braid.New("sub", answers(asksFor("add", `{"a":1,"b":2}`), says("3")), braid.Func("add", "", add))
	return braid.New("root", m, braid.AsTool(sub, ""), fail, braid.Sequential(),
		braid.Retries(braid.Retry{Base: time.Nanosecond, Max: time.Nanosecond}))
}

const troubledTree = `run root end_turn end_turn
  cycle 1 input
    model test:script input failed overloaded
    model test:script retry tool_use
    tool sub done
      agent sub end_turn end_turn
        cycle 1 input
          model test:script input tool_use
          tool add done
        cycle 2 tool_results
          model test:script tool_results end_turn
    tool fail done internal
    tool none done not_found
  cycle 2 tool_results
    model test:script tool_results end_turn`

func TestTheTreeOfARun(t *testing.T) {
	t.Parallel()
	agent := troubled()
	var live trace.Tree
	var r braid.Result
	for e, err := range agent.Stream(t.Context(), "go", braid.Into(&r)) {
		if err != nil {
			t.Fatal(err)
		}
		live.Add(&e)
	}
	root, err := r.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := spans(root, 0); got != troubledTree {
		t.Errorf("from the log:\n%s\nwant\n%s", got, troubledTree)
	}
	if got := spans(live.Root(), 0); got != troubledTree {
		t.Errorf("from the stream:\n%s", got)
	}
	var inside time.Duration
	for _, c := range root.Children {
		inside += c.Duration
	}
	if root.Duration <= 0 || inside > root.Duration || root.Usage != r.Usage {
		t.Errorf("the run took %v, its cycles %v, and used %+v", root.Duration, inside, root.Usage)
	}
	again, err := agent.Run(t.Context(), "more", braid.In(r.Conversation))
	if err != nil {
		t.Fatal(err)
	}
	if root, err = again.Trace(t.Context()); err != nil || len(root.Children) != 2 || root.Children[0].Cycle != 1 {
		t.Errorf("the tree of the second run is\n%s, %v", spans(root, 0), err)
	}
	if root, err = (&braid.Result{}).Trace(t.Context()); root != nil || err != nil {
		t.Errorf("the tree of nothing is %v, %v", root, err)
	}
}

func TestTheTreeOfARunThatWaits(t *testing.T) {
	t.Parallel()
	ask := braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") })
	agent := braid.New("root", answers(asksFor("ask", `{}`), says("hello")), ask)
	r, err := agent.Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := r.Trace(t.Context())
	if want := "run root open\n  cycle 1 input\n    model test:script input tool_use\n    tool ask open"; err != nil || spans(root, 0) != want {
		t.Errorf("while it waits:\n%s, %v", spans(root, 0), err)
	}
}

// A tree is made of any events, in any order, and nothing that was said is in it.
func TestTreesOfWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	var all []event.Event
	for e, err := range troubled().Stream(t.Context(), "a secret") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for from := range all {
		for to := from; to <= len(all); to++ {
			var tree trace.Tree
			for i := from; i < to; i++ {
				tree.Add(&all[i])
			}
			text, err := json.Marshal(tree.Root())
			if err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), `"duration_ns":-`) {
				t.Fatalf("%d to %d: %s, %v", from, to, text, err)
			}
		}
	}
}
