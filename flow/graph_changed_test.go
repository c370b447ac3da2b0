package flow

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// A run that waits goes on with a changed graph: nodes are matched by name. If a node that it needs is gone, the error says so, and
// the run keeps waiting.
func TestAGraphThatChangesWhileARunWaits(t *testing.T) {
	t.Parallel()
	ask := func(name string) Node { return Node{Name: name, Ask: &Question{Text: "So?"}} }
	before := Graph{
		Name: "g", Nodes: append(funcs("a", "b"), ask("q")), Edges: []Edge{{From: "a", To: "q"}, {From: "q", To: "b"}},
	}
	for name, c := range map[string]struct {
		after Graph
		want  string
		err   string
	}{
		"the same":      {before, "b(yes)", ""},
		"another order": {Graph{Nodes: append([]Node{ask("q")}, funcs("b", "a")...), Edges: []Edge{{From: "q", To: "b"}, {From: "a", To: "q"}}}, "b(yes)", ""},
		"a further node": {
			Graph{Nodes: append(funcs("a", "c", "b"), ask("q")), Edges: []Edge{{From: "a", To: "q"}, {From: "q", To: "c"}, {From: "c", To: "b"}}},
			"b(c(yes))", "",
		},
		"without what has ended": {Graph{Nodes: append(funcs("b"), ask("q")), Edges: []Edge{{From: "q", To: "b"}}}, "b(yes)", ""},
		"without what is at work": {
			Graph{Nodes: append(funcs("a", "b"), ask("p")), Edges: []Edge{{From: "a", To: "p"}, {From: "p", To: "b"}}}, "", `"q"`,
		},
		"with a node of another name for its agent": {
			Graph{Nodes: append(funcs("a", "b"), Node{Name: "p", Agent: braid.NewFlow("q", askNode{Question{Text: "So?"}})}), Edges: []Edge{{From: "a", To: "p"}, {From: "p", To: "b"}}},
			"", `the run needs node "q", which graph "g" no longer has`,
		},
	} {
		conv := braid.NewConversation()
		r, err := before.Agent().Run(t.Context(), "go", braid.In(conv))
		if err != nil || len(r.Questions) != 1 {
			t.Fatal(err, r.Status)
		}
		c.after.Name = "g"
		if c.err != "" {
			_, err := c.after.Agent().Resume(t.Context(), conv)
			e, _ := errors.AsType[*event.Error](err)
			if e == nil || e.Kind != event.ErrNotFound || !strings.Contains(e.Message, c.err) || !strings.Contains(e.Hint, "keeps waiting") {
				t.Errorf("%s: %v", name, err)
			}
			c.after, c.want = before, "b(yes)" // and it does
		}
		if err := conv.Answer(t.Context(), r.Questions[0].Token, "yes"); err != nil {
			t.Fatal(err)
		}
		if r, err = c.after.Agent().Resume(t.Context(), conv); err != nil || r.Text() != c.want {
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		}
	}
}
