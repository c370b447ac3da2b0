// Package talk is a kind of agent outside of Braid: agents that speak in turn until one of them says a word.
package talk

import (
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
)

// New returns an agent that asks its agents in turn: the first one what it was asked itself, and each further one what was said
// last. It ends with the answer in which somebody says the word.
func New(name, word string, agents ...*braid.Agent) *braid.Agent {
	return braid.NewFlow(name, turns{word}, agents...)
}

type turns struct{ until string }

// Next implements flow.Kind.
func (t turns) Next(s flow.Scope) flow.Command {
	said, n := s.Input, len(s.Children)
	if n > 0 {
		last := s.Children[n-1]
		switch {
		case last.Open:
			return flow.Command{}
		case last.Err != nil:
			return flow.Command{Finish: true, Err: last.Err, Stop: last.Stop}
		}
		said = last.Output
	}
	if n > 0 && strings.Contains(event.TextOf(said), t.until) {
		return flow.Command{Finish: true, Output: said}
	}
	return flow.Command{Open: []flow.Opening{{Agent: s.Agents[n%len(s.Agents)], Input: said}}}
}
