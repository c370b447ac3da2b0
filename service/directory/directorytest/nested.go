package directorytest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// below is what a test writes of agents below an agent: "name", "name=agent" or "name=agent@version".
func below(agents ...string) map[string]directory.SubAgent {
	subs := map[string]directory.SubAgent{}
	for _, text := range agents {
		name, agent, _ := strings.Cut(text, "=")
		var s directory.SubAgent
		if agent, pinned, ok := strings.Cut(agent, "@"); ok {
			s.Agent = agent
			_, _ = fmt.Sscan(pinned, &s.Version)
		} else {
			s.Agent = agent
		}
		if s.Agent == "" {
			s.Instructions = "Help."
		}
		subs[name] = s
	}
	return subs
}

// nested holds what is said of agents below agents: who stands below himself, or under a name that is taken, is
// refused where that is written, whichever of them is written last.
func nested(t *testing.T, h Harness) {
	ctx := t.Context()
	for i, c := range []struct {
		name string
		// have are the agents that are there, in the order in which they were made.
		have []string
		// write is the one that is written then, and said is what the refusal says; empty for none.
		write, said string
	}{
		{"one below another", []string{"b: x"}, "a: y=b", ""},
		{"one below two", []string{"c:", "b: x=c"}, "a: y=b z=c", ""},
		{"itself", nil, "a: me=a", "the agent a would be below itself: a > me (a)"},
		{"itself through another", []string{"a:", "b: x=a"}, "a: y=b", "the agent a would be below itself: a > y (b) > x (a)"},
		{"itself through two", []string{"c:", "b: z=c", "a: y=b"}, "c: x=a", "the agent c would be below itself: c > x (a) > y (b) > z (c)"},
		{"its namesake", nil, "a: a", "two agents are called a: a, and a > a"},
		{"two of one name", []string{"b: x"}, "a: x y=b", "two agents are called x: a > x, and a > y (b) > x"},
		{"two that have one below them", []string{"b: x"}, "a: y=b z=b", "two agents are called x: a > y (b) > x, and a > z (b) > x"},
		{"a name that is taken above", []string{"b:", "a: x y=b"}, "b: x", "two agents are called x: a > x, and a > y (b) > x"},
		{"a name that is taken far above", []string{"c:", "b: z=c", "a: x y=b"}, "c: x", "two agents are called x: a > x, and a > y (b) > z (c) > x"},
		{"above is another version", []string{"b:", "a: x y=b@1"}, "b: x", ""},
		{"below is another version", []string{"b: x", "b:"}, "a: x y=b", ""},
		{"the version below has it", []string{"b: x", "b:"}, "a: x y=b@1", "two agents are called x: a > x, and a > y (b) > x"},
		{
			"above is a pinned version of one in between",
			[]string{"c:", "b: y=c", "b:", "a: x z=b@1"},
			"c: x",
			"two agents are called x: a > x, and a > z (b) > y (c) > x",
		},
		{
			"above are pinned versions of two in between",
			[]string{"d:", "c: w=d", "c:", "b: y=c@1", "b:", "a: x z=b@1"},
			"d: x",
			"two agents are called x: a > x, and a > z (b) > y (c) > w (d) > x",
		},
		{"above was one, and is no more", []string{"c:", "b: x y=c", "b:", "a: z=b"}, "c: x", ""},
		{"four deep", []string{"d: w", "c: x=d", "b: y=c"}, "a: z=b", ""},
		{
			"five deep",
			[]string{"e: v", "d: w=e", "c: x=d", "b: y=c"},
			"a: z=b",
			"an agent is nested too deeply: a > z (b) > y (c) > x (d) > w (e) > v",
		},
		{"too deep from above", []string{"e:", "d:", "c: x=d", "b: y=c", "a: z=b"}, "d: w=e", ""},
		{
			"too deep from far above",
			[]string{"e:", "d: w=e", "c: x=d", "b: y=c", "a: z=b"},
			"e: v",
			"an agent is nested too deeply: a > z (b) > y (c) > x (d) > w (e) > v",
		},
	} {
		id := fmt.Sprint("tenant-", i)
		tenant(t, h.Directory, id)
		write := func(text string) error {
			agent, subs, _ := strings.Cut(text, ":")
			spec := directory.AgentSpec{SubAgents: below(strings.Fields(subs)...)}
			_, err := h.Directory.CreateAgent(ctx, of(id), directory.Agent{Tenant: id, ID: agent, AgentSpec: spec}, "")
			if errors.Is(err, event.ErrConflict) {
				_, err = h.Directory.UpdateAgent(ctx, of(id), id, agent, 0, func(a *directory.Agent) error { a.AgentSpec = spec; return nil })
			}
			return err
		}
		for _, text := range c.have {
			if err := write(text); err != nil {
				t.Fatalf("%s: %s: %v", c.name, text, err)
			}
		}
		err := write(c.write)
		if c.said == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		want(t, c.name, err, event.ErrInvalid, "SUB_AGENTS_INVALID")
		var e *event.Error
		if errors.As(err, &e) && e.Message != c.said {
			t.Errorf("%s: it says %q, want %q", c.name, e.Message, c.said)
		}
	}
}

// nestedAtOnce has two agents written at once, each below the other one: one of them is refused.
func nestedAtOnce(t *testing.T, h Harness) {
	ctx := t.Context()
	tenant(t, h.Directory, "acme")
	for n := range 10 {
		pair := map[string]string{fmt.Sprint("a", n): fmt.Sprint("b", n), fmt.Sprint("b", n): fmt.Sprint("a", n)}
		for id := range pair {
			must[directory.Agent](t)(h.Directory.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: id}, ""))
		}
		var work sync.WaitGroup
		errs := make([]error, 2)
		for i, id := range slices.Sorted(maps.Keys(pair)) {
			work.Go(func() {
				_, errs[i] = h.Directory.UpdateAgent(ctx, of("acme"), "acme", id, 0, func(a *directory.Agent) error {
					a.SubAgents = map[string]directory.SubAgent{"other": {Agent: pair[id]}}
					return nil
				})
			})
		}
		work.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("of two that stand below one another: %v, %v", errs[0], errs[1])
		}
	}
}
