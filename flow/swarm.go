package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// Swarm is the definition of an agent that lets its members hand the work to each other. [Swarm.Agent] makes the agent.
//
// The start member gets the input. A member that calls the tool handoff_to_agent ends its turn, and the named member goes on with
// the message and the shared context. A member that ends without a hand-off ends the swarm, and its answer is the swarm's.
// One member works at a time, and each turn is a scope of its own, so a member sees only what it was handed. The order and the
// input of members are those of Strands for TypeScript.
type Swarm struct {
	// Name is the name of the agent.
	Name string
	// Members are the agents. Their names tell them apart.
	Members []Member
	// Start names the member that gets the input; empty means the first one.
	Start string
	// Handoffs bounds the hand-offs; 0 means 20, a negative number means no bound.
	Handoffs int
	// Steps bounds the turns of all members; 0 means 20, a negative number means no bound.
	Steps int
	// Timeout bounds the whole work, and NodeTimeout one turn, both with the time in which answers of humans are awaited. 0
	// means no bound.
	Timeout, NodeTimeout time.Duration
	// PingPong ends a swarm whose members hand the work back and forth. The zero value does not.
	PingPong PingPong
	// Brief adds the request of the user and the names of the earlier members to what a member is handed, as Strands for
	// Python does.
	Brief bool
}

// Member is an agent of a [Swarm].
type Member struct {
	Agent *braid.Agent
	// Description tells the other members what it does.
	Description string
	// Timeout bounds a turn of this member instead of [Swarm].NodeTimeout; 0 means that one.
	Timeout time.Duration
}

// PingPong ends a swarm if fewer than Agents different members worked in the last Window turns.
type PingPong struct {
	Window, Agents int
}

// defaultTurns bounds hand-offs and turns where the definition does not.
const defaultTurns = 20

// Agent makes the agent of the swarm. It adds the tool handoff_to_agent to its members, so an agent can be a member of one
// swarm only. A mistake in the definition does not panic: [braid.Agent.Err] and every run return it.
func (s Swarm) Agent() *braid.Agent {
	if err := s.check(); err != nil {
		return broke(s.Name, err)
	}
	s.Members = slices.Clone(s.Members)
	if s.Start == "" {
		s.Start = s.Members[0].Agent.Name()
	}
	agents := make([]*braid.Agent, len(s.Members))
	for i := range s.Members {
		agents[i] = s.Members[i].Agent
		if err := s.lend(i); err != nil {
			return broke(s.Name, err)
		}
	}
	return braid.NewFlow(s.Name, &swarmKind{s}, agents...)
}

// broke returns an agent whose error is err.
func broke(name string, err error) *braid.Agent {
	return braid.NewFlow(name, broken{}).Use(braid.Tools(failing{err}))
}

// lend gives a member the hand-off tool.
func (s Swarm) lend(i int) error {
	a := s.Members[i].Agent
	if a.Model() == nil || len(s.Members) == 1 {
		return nil
	}
	t := newHandoffTool(&s, i)
	for _, had := range a.Tools() {
		if same, ok := had.(*handoffTool); ok && slices.Equal(same.names, t.names) {
			return nil
		}
	}
	if err := a.AddTools(t); err != nil {
		return &event.Error{
			Op: "swarm " + s.Name, Kind: event.ErrInvalid, Message: fmt.Sprintf("member %q cannot get the tool %s: %v", a.Name(), handoffName, err),
			Hint: "use an agent in one swarm only", Err: err,
		}
	}
	return nil
}

// check returns the first mistake of the definition.
func (s Swarm) check() error {
	wrong := func(hint, format string, args ...any) error {
		return &event.Error{Op: "swarm " + s.Name, Kind: event.ErrInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if len(s.Members) == 0 {
		return wrong("add a member", "the swarm has no members")
	}
	names := map[string]bool{}
	for i := range s.Members {
		switch m := &s.Members[i]; {
		case m.Agent == nil:
			return wrong("leave it out", "member %d is nil", i+1)
		case m.Agent.Err() != nil:
			return wrong("correct the agent", "member %q is not usable: %v", m.Agent.Name(), m.Agent.Err())
		case names[m.Agent.Name()]:
			return wrong("rename one of them", "two members are called %q", m.Agent.Name())
		case m.Agent.Name() == s.Name:
			return wrong("rename one of them", "member %q has the name of the swarm", s.Name)
		case m.Timeout < 0:
			return wrong("use 0 for no bound", "the Timeout of member %q is negative", m.Agent.Name())
		default:
			names[m.Agent.Name()] = true
		}
	}
	switch {
	case s.Start != "" && !names[s.Start]:
		return wrong("name a member", "Start names %q, which is no member", s.Start)
	case s.Timeout < 0, s.NodeTimeout < 0:
		return wrong("use 0 for no bound", "Timeout or NodeTimeout is negative")
	case s.PingPong.Window < 0, s.PingPong.Agents < 0, s.PingPong.Window > 0 && s.PingPong.Agents > s.PingPong.Window:
		return wrong("use a window of at least as many turns as agents", "PingPong can never be met")
	}
	return nil
}

// swarmKind is the [Kind] of a [Swarm]. It never changes.
type swarmKind struct{ Swarm }

// Next implements [Kind]. These rules apply in order:
//
//  1. If the time of the swarm or of the turn is over, close the member and end with an error.
//  2. While a member works, wait.
//  3. If it failed, end with its error. If it handed nothing off, end with its answer.
//  4. If a limit is reached, end with an error. Otherwise the named member goes on.
func (k *swarmKind) Next(s Scope) Command {
	n := len(s.Children)
	if n == 0 {
		return Command{Open: []Opening{{Node: k.Start, Agent: k.Start, Input: s.Input}}}
	}
	last := &s.Children[n-1]
	if last.Open {
		return k.watch(&s, last)
	}
	if last.Err != nil {
		err := *last.Err
		err.Op, err.Message = "swarm "+k.Name, fmt.Sprintf("agent %q: %s", last.Agent, last.Err.Message)
		return Command{Finish: true, Err: &err, Stop: last.Stop, Output: last.Output}
	}
	h := handoffOf(last)
	if h == nil {
		return Command{Finish: true, Output: last.Output}
	}
	if err := k.over(&s, h); err != nil {
		return Command{Finish: true, Err: err, Stop: stopOf(err)}
	}
	return Command{Open: []Opening{{Node: h.Agent, Agent: h.Agent, Input: k.handed(&s, h)}}}
}

// stopOf returns the stop reason that belongs to an error.
func stopOf(err *event.Error) event.StopReason {
	if err.Code != "" {
		return event.StopReason(err.Code)
	}
	if err.Kind == event.ErrTimeout {
		return event.StopTimeout
	}
	return event.StopError
}

// watch waits for a member, up to its time.
func (k *swarmKind) watch(s *Scope, c *Child) Command {
	cmd := Command{}
	for _, limit := range []struct {
		end  time.Time
		time time.Duration
		what string
	}{
		{s.Began.Add(k.Timeout), k.Timeout, "the swarm"}, {c.Began.Add(k.timeout(c.Agent)), k.timeout(c.Agent), fmt.Sprintf("agent %q", c.Agent)},
	} {
		switch {
		case limit.time == 0:
		case s.Now.Before(limit.end):
			until(&cmd, limit.end)
		default:
			return Command{Close: []Closing{{Child: len(s.Children) - 1, Err: &event.Error{
				Op: "swarm " + k.Name, Kind: event.ErrTimeout, Message: fmt.Sprintf("%s took longer than %s", limit.what, limit.time),
				Hint: "give it more time, or ask for less",
			}}}}
		}
	}
	return cmd
}

// timeout returns the time of a member's turn; 0 for no bound.
func (k *swarmKind) timeout(name string) time.Duration {
	for i := range k.Members {
		if m := &k.Members[i]; m.Agent.Name() == name && m.Timeout > 0 {
			return m.Timeout
		}
	}
	return k.NodeTimeout
}

// over returns why a hand-off is not followed; nil if it is.
func (k *swarmKind) over(s *Scope, h *handoff) *event.Error {
	limit := func(stop event.StopReason, hint, format string, args ...any) *event.Error {
		return &event.Error{
			Op: "swarm " + k.Name, Kind: event.ErrLimit, Code: string(stop), Message: fmt.Sprintf(format, args...), Hint: hint,
		}
	}
	n := len(s.Children)
	steps, handoffs := turns(k.Steps), turns(k.Handoffs)
	switch {
	case !slices.ContainsFunc(k.Members, func(m Member) bool { return m.Agent.Name() == h.Agent }):
		return &event.Error{
			Op: "swarm " + k.Name, Kind: event.ErrInvalid,
			Message: fmt.Sprintf("the work was handed to agent %q, which the swarm no longer has", h.Agent),
			Hint:    "add the agent again and retry the run, or begin another run",
		}
	case steps > 0 && n >= steps:
		return limit(event.StopLimitCycles, "raise Steps", "the members have worked %d turns, as many as they may", n)
	case handoffs > 0 && n > handoffs:
		return limit(event.StopLimitCycles, "raise Handoffs", "the members have handed the work on %d times, as often as they may", n-1)
	case k.Timeout > 0 && !s.Now.Before(s.Began.Add(k.Timeout)):
		return &event.Error{
			Op: "swarm " + k.Name, Kind: event.ErrTimeout, Message: fmt.Sprintf("the swarm took longer than %s", k.Timeout),
			Hint: "give it more time, or ask for less",
		}
	}
	if w := k.PingPong.Window; w > 0 && n >= w {
		seen := map[string]bool{}
		for i := n - w; i < n; i++ {
			seen[s.Children[i].Agent] = true
		}
		if len(seen) < k.PingPong.Agents {
			return limit(event.StopLimitRepeats, "tell the agents when to answer", "ping-pong: %d agents worked in the last %d turns (%s)",
				len(seen), w, lastAgents(s.Children[n-w:]))
		}
	}
	return nil
}

// turns resolves the zero value of a bound; 0 means none.
func turns(bound int) int {
	if bound == 0 {
		return defaultTurns
	}
	return max(bound, 0)
}

// lastAgents lists the agents of turns.
func lastAgents(list []Child) string {
	var names []string
	for i := range list {
		names = append(names, list[i].Agent)
	}
	return strings.Join(names, ", ")
}
