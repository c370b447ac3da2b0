// Package decidetest checks that one log gives one command, whoever folds it and however.
package decidetest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// Agent is what decides in a scope.
type Agent func(v *fold.Conversation, s *fold.Scope) (decide.Kind, *decide.Policy)

// Commands says what is decided for each open scope. With look it fails where a decision changes the scope or the policy.
func Commands(v *fold.Conversation, agent Agent, look bool) (string, error) {
	if v.Run == nil || v.Run.Ended != nil {
		return "", nil
	}
	var sb strings.Builder
	for _, s := range v.Run.Scopes {
		if s.Closed != nil {
			continue
		}
		kind, p := agent(v, s)
		scope, policy := "", ""
		if look {
			scope, policy = foldtest.Deep(s), foldtest.Deep(p)
		}
		cmd := decide.Next(kind, s, p, v.Run.At)
		if look {
			if after := foldtest.Deep(s); after != scope {
				return "", fmt.Errorf("deciding changed scope %q from\n%s\nto\n%s", s.ID, scope, after)
			}
			if after := foldtest.Deep(p); after != policy {
				return "", fmt.Errorf("deciding changed the policy of scope %q from\n%s\nto\n%s", s.ID, policy, after)
			}
		}
		fmt.Fprintf(&sb, "%q does %d because of %q, stop %q, until %v, say %q, err %s:", s.ID, cmd.Do, cmd.Why, cmd.Stop, cmd.Until.UnixNano(),
			cmd.Say, foldtest.Deep(cmd.Err))
		for _, c := range cmd.Calls {
			sb.WriteString(" " + c.Step)
		}
		sb.WriteString("\n")
	}
	return sb.String(), nil
}

// OneCommand folds a log in several ways, and compares the commands at every length: event by event as a driver does, from
// scratch as the next driver does, and traced. chosen says at which lengths; nil means all.
func OneCommand(log []*event.Event, agent Agent, chosen func(n int) bool) error {
	warm := fold.New(nil)
	for n, e := range log {
		if warm.Add(e); warm.Stale {
			warm = fold.New(log[:n+1])
		}
		if chosen != nil && !chosen(n+1) {
			continue
		}
		got, err := Commands(warm, agent, true)
		if err != nil {
			return fmt.Errorf("after event %d: %w", n+1, err)
		}
		for how, other := range map[string]*fold.Conversation{
			"from scratch": fold.New(log[:n+1]),
			"traced":       fold.FromTail(&fold.Tail{First: 1, Events: log[:n+1]}, true),
		} {
			want, err := Commands(other, agent, false)
			if err != nil {
				return fmt.Errorf("after event %d, %s: %w", n+1, how, err)
			}
			if got != want {
				return fmt.Errorf("after event %d, folded event by event\n%sand %s\n%s", n+1, got, how, want)
			}
		}
	}
	return nil
}

// Policy returns that of an agent with an agent as a tool, with the limits that agents have by themselves where l has none.
func Policy(l decide.Limits) *decide.Policy {
	l.Cycles, l.Repeats, l.RepeatNote, l.Outputs = cmp.Or(l.Cycles, 500), cmp.Or(l.Repeats, 5), cmp.Or(l.RepeatNote, 3), cmp.Or(l.Outputs, 3)
	return &decide.Policy{
		Limits: &l, Team: map[string]*decide.Limits{"root": &l, "sub": &l}, Agents: []string{"sub"},
		Compaction: decide.Compaction{Window: -1, Threshold: -1, Tries: 3},
	}
}

// compactions are the ways to shorten a conversation under which [UnderAll] looks at logs of other runs.
var compactions = []decide.Compaction{
	{Window: -1, Threshold: -1, Tries: 3},
	{Window: -1, Threshold: -1, Tries: -1},
	{Window: 2, Threshold: -1, Tries: 3},
	{Window: -1, Threshold: 21, Before: 30, Tries: 3},
	{Window: -1, Threshold: 200, Before: 30, Tries: 1},
}

// UnderAll is [OneCommand] with every way to shorten a conversation.
func UnderAll(log []*event.Event, chosen func(n int) bool) error {
	for _, c := range compactions {
		agent := func(v *fold.Conversation, _ *fold.Scope) (decide.Kind, *decide.Policy) {
			p := Policy(decide.Limits{})
			p.Compaction, p.Earlier = c, &v.Spent
			return decide.LLM{}, p
		}
		if err := OneCommand(log, agent, chosen); err != nil {
			return fmt.Errorf("with %+v: %w", c, err)
		}
	}
	return nil
}
