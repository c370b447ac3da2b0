package flow

import (
	"context"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// LoopOptions are the options of [Loop].
type LoopOptions struct {
	// Max bounds the rounds; 0 means no bound but the run's limits, of which [braid.Limits].Scopes ends every loop.
	Max int
	// Until decides after each round whether the loop ends; nil means no. answer is the text that the last agent of the round
	// said. It runs once for each round, and its result is in the log; see [Decider]. [braid.State] works in ctx.
	Until func(ctx context.Context, answer string) (bool, error)
	// Input says what each agent is asked.
	Input Input
}

// Loop returns an agent that runs agents one after another, round by round. It ends when an agent has escalated (see [Escalate];
// the agents after it are skipped), when Until says so, after Max rounds, or with the error of an agent. Its answer is the last
// agent's, or the one before if that is empty.
//
// The nearest loop takes an escalation: a loop around it goes on.
func Loop(name string, o LoopOptions, agents ...*braid.Agent) *braid.Agent {
	return braid.NewFlow(name, loop{o, names(agents)}, agents...)
}

// loop is the kind of [Loop].
type loop struct {
	o      LoopOptions
	agents []string
}

// The names of decisions begin with these words; the number of the round, or of the child, follows.
const (
	untilRound = "until "
	inputOf    = "input "
)

// Next implements [Kind].
func (l loop) Next(s Scope) Command {
	n := len(s.Children)
	if n > 0 {
		last := &s.Children[n-1]
		switch {
		case last.Open:
			return Command{}
		case last.Err != nil:
			return Command{Finish: true, Err: last.Err, Stop: last.Stop, Output: last.Output}
		case last.Escalated:
			return l.finish(&s)
		}
	}
	if len(l.agents) == 0 {
		return Command{Finish: true, Output: s.Input}
	}
	if round := n / len(l.agents); n > 0 && n%len(l.agents) == 0 {
		if l.o.Until != nil {
			d := s.Decision(untilRound + strconv.Itoa(round))
			switch {
			case d == nil:
				return Command{Decide: untilRound + strconv.Itoa(round)}
			case d.Err != nil:
				return Command{Finish: true, Err: d.Err}
			case d.Yes():
				return l.finish(&s)
			}
		}
		if l.o.Max > 0 && round >= l.o.Max {
			return l.finish(&s)
		}
	}
	open := Opening{Agent: l.agents[n%len(l.agents)], Node: l.agents[n%len(l.agents)]}
	if l.o.Input.from == nil {
		open.Input = l.o.Input.of(&s)
		return Command{Open: []Opening{open}}
	}
	d := s.Decision(inputOf + strconv.Itoa(n+1))
	switch {
	case d == nil:
		return Command{Decide: inputOf + strconv.Itoa(n+1)}
	case d.Err != nil:
		return Command{Finish: true, Err: d.Err}
	}
	input, err := blocksOf(d.Value)
	if err != nil {
		return Command{Finish: true, Err: err}
	}
	open.Input = input
	return Command{Open: []Opening{open}}
}

// Decide implements [Decider].
func (l loop) Decide(ctx context.Context, name string, s Scope) (any, error) {
	n := len(s.Children)
	if strings.HasPrefix(name, untilRound) {
		return l.o.Until(ctx, event.TextOf(s.Children[n-1].Output))
	}
	input, err := l.o.Input.from(ctx, s, l.agents[n%len(l.agents)])
	if err != nil {
		return nil, err
	}
	return valueOf(input)
}

// Narrow implements [Narrower]: Until reads the newest answer alone.
func (l loop) Narrow(name string, s Scope) Scope {
	if strings.HasPrefix(name, untilRound) {
		return Scope{Children: s.Children[len(s.Children)-1:]}
	}
	return s
}

// finish ends the loop with the newest answer.
func (l loop) finish(s *Scope) Command {
	for n := len(s.Children) - 1; n >= 0; n-- {
		if output := s.Children[n].Output; len(output) > 0 {
			return Command{Finish: true, Output: output}
		}
	}
	return Command{Finish: true}
}
