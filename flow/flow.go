// Package flow has agents that are made of other agents, and says how to write kinds of agents.
//
// An agent of package braid asks a model. An agent of another kind has no model: its [Kind] decides which of its agents work, and
// on what. Such an agent is used like any other: it runs by itself, is a tool of another agent, or a part of a further flow.
// Each of its agents works in a scope of its own in the run's log, so limits, questions, hooks and permissions hold inside it,
// and a run that was cut off goes on where it stood.
//
// [Sequence] is one kind. Write others and make agents of them with [braid.NewFlow]:
//
//	agent := braid.NewFlow("talk", turns{until: "agreed"}, buyer, seller)
package flow

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow/kind"
)

// Kind is [kind.Kind]: a kind of agent.
type Kind = kind.Kind

// Scope is [kind.Scope]: what a [Kind] sees.
type Scope = kind.Scope

// Child is [kind.Child]: the work of an agent inside a [Scope].
type Child = kind.Child

// Command is [kind.Command]: what a [Kind] decides.
type Command = kind.Command

// Opening is [kind.Opening]: the work of an agent that is to begin.
type Opening = kind.Opening

// Closing is [kind.Closing]: the end of an agent that has not ended itself.
type Closing = kind.Closing

// Decider is [kind.Decider]: a [Kind] with decisions that Go code of the user makes.
type Decider = kind.Decider

// Decision is [kind.Decision]: such a decision, as the log has it.
type Decision = kind.Decision

// Narrower is [kind.Narrower]: a [Decider] whose decisions read little of a scope, so that Braid copies little for each.
type Narrower = kind.Narrower

// Matcher is [kind.Matcher]: a [Kind] whose definition may change while a run waits.
type Matcher = kind.Matcher

// Worker is [kind.Worker]: a [Kind] whose scope runs one tool.
type Worker = kind.Worker

// Sequence returns an agent that runs its agents one after another. The first one is asked what the sequence was asked, and each
// further one is asked what the one before it answered. The answer of the last one is the sequence's. An agent that ends with an
// error ends the sequence with that error. One agent may stand in a sequence more than once.
func Sequence(name string, agents ...*braid.Agent) *braid.Agent {
	return braid.NewFlow(name, sequence(names(agents)), agents...)
}

// sequence are the names of the agents in their order.
type sequence []string

// Next implements [Kind].
func (q sequence) Next(s Scope) Command {
	input, done := s.Input, len(s.Children)
	if done > 0 {
		last := &s.Children[done-1]
		switch {
		case last.Open:
			return Command{}
		case last.Err != nil:
			return Command{Finish: true, Err: last.Err, Stop: last.Stop, Output: last.Output}
		}
		input = last.Output
	}
	if done >= len(q) {
		return Command{Finish: true, Output: input, Escalate: escalated(s.Children)}
	}
	return Command{Open: []Opening{{Node: q[done], Agent: q[done], Input: input}}}
}

// escalated reports whether an agent asked the loop around it to stop.
func escalated(children []Child) bool {
	for i := range children {
		if children[i].Escalated {
			return true
		}
	}
	return false
}

// names are the names of agents, in their order.
func names(agents []*braid.Agent) []string {
	list := make([]string, len(agents))
	for i, a := range agents {
		if a != nil {
			list[i] = a.Name()
		}
	}
	return list
}
