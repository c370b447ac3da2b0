package flow

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Input says what an agent of a [Loop] is asked. The zero value is [LastAnswer].
type Input struct {
	all  bool
	from func(ctx context.Context, s Scope, agent string) ([]event.Block, error)
}

var (
	// LastAnswer asks each agent what the agent before it answered, and the first one what the whole was asked.
	LastAnswer = Input{}
	// Everything asks each agent what the whole was asked, followed by every answer so far. An answer looks as ADK shows the
	// answers of other agents: "For context:" and "[agent] said: …".
	Everything = Input{all: true}
)

// Mapped lets Go code make what an agent is asked: from what the whole was asked, s.Input, and the answers so far, s.Children. It
// runs once for each agent's turn, like every decision; see [Decider].
func Mapped(from func(ctx context.Context, s Scope, agent string) ([]event.Block, error)) Input {
	return Input{from: from}
}

// of returns what the next agent is asked. It is not for an Input of [Mapped].
func (in Input) of(s *Scope) []event.Block {
	n := len(s.Children)
	switch {
	case n == 0:
		return s.Input
	case !in.all:
		return s.Children[n-1].Output
	}
	blocks := append([]event.Block(nil), s.Input...)
	for i := range s.Children {
		blocks = append(blocks, reframed(s.Children[i].Agent, s.Children[i].Output)...)
	}
	return blocks
}

// reframed returns an agent's answer as another agent sees it.
func reframed(agent string, output []event.Block) (blocks []event.Block) {
	for _, b := range output {
		if text, ok := b.(*event.Text); ok {
			if text.Text == "" {
				continue
			}
			b = &event.Text{Text: "[" + agent + "] said: " + text.Text}
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil
	}
	return append([]event.Block{&event.Text{Text: "For context:"}}, blocks...)
}
