package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// Policy says when the agents of a [Parallel] are done.
type Policy uint8

// The policies.
const (
	// FirstError stops the other agents at the first error, which is the error of the whole. It is the default.
	FirstError Policy = iota
	// All lets every agent end. Those with an error are left out of the answer. If all have one, the whole has the first one.
	All
	// Race takes the first answer and stops the other agents. If no agent has an answer, the whole has the first error.
	Race
)

// Merge makes the answer of a [Parallel] of what its agents came to, in the order of the agents. An agent with an error has Err.
// It runs once, like every decision; see [Decider].
type Merge func(ctx context.Context, results []Child) ([]event.Block, error)

// Join returns a Merge that makes one text of the answers, with sep between them.
func Join(sep string) Merge {
	return func(_ context.Context, results []Child) ([]event.Block, error) {
		var texts []string
		for i := range results {
			if results[i].Err == nil {
				texts = append(texts, event.TextOf(results[i].Output))
			}
		}
		return []event.Block{&event.Text{Text: strings.Join(texts, sep)}}, nil
	}
}

// ParallelOptions are the options of [Parallel]. The zero value runs all agents at once, until the first error.
type ParallelOptions struct {
	// AtOnce bounds how many agents work at the same time; 0 means all of them. The others wait in their order.
	AtOnce int
	// Policy says when the agents are done.
	Policy Policy
	// Merge makes the answer; nil puts the answers one after another. With [Race] the answer is the winner's.
	Merge Merge
}

// Parallel returns an agent that runs agents side by side. Each of them is asked what the whole was asked, and sees nothing of
// the others: its events have the branch "name.agent" behind the branch of the whole. State is shared. If two agents have
// changed the same key of it, a notice with the code [NoticeStateConflict] says so, and the later change stands.
//
// Agents that are stopped get the run's grace period. The log says why each of them ended.
func Parallel(name string, o ParallelOptions, agents ...*braid.Agent) *braid.Agent {
	p := parallel{o: o, agents: names(agents)}
	times := map[string]int{}
	for _, a := range p.agents {
		node := a
		if times[a]++; times[a] > 1 {
			node += "-" + strconv.Itoa(times[a])
		}
		p.nodes = append(p.nodes, node)
		p.branches = append(p.branches, segment(name)+"."+segment(node))
	}
	return braid.NewFlow(name, p, agents...)
}

// NoticeStateConflict is the Code of the [event.Notice] about state that several agents of a [Parallel] have changed. Its Data
// is an object: the agents by key.
const NoticeStateConflict = "state_conflict"

// segment returns a name as one segment of a branch.
func segment(name string) string { return strings.ReplaceAll(name, ".", "_") }

// parallel is the kind of [Parallel].
type parallel struct {
	o        ParallelOptions
	agents   []string
	nodes    []string
	branches []string
}

// merge is the name of the decision.
const merge = "merge"

// Next implements [Kind]. While nothing has failed it looks at no single child, because there may be very many.
func (p parallel) Next(s Scope) Command {
	won := p.winner(&s)
	if won != nil || s.Failed > 0 && p.o.Policy == FirstError {
		if s.Open > 0 {
			return p.stop(&s, won)
		}
		if won != nil {
			return p.finish(&s, won.Output)
		}
		return p.fail(&s)
	}
	if list := p.next(&s); len(list) > 0 {
		return Command{Open: list}
	}
	switch {
	case s.Open > 0:
		return Command{}
	case s.Failed == len(p.nodes) && s.Failed > 0, s.Failed > 0 && p.o.Policy == Race:
		return p.fail(&s)
	case p.o.Merge == nil:
		var output []event.Block
		for i := range s.Children {
			output = append(output, s.Children[i].Output...)
		}
		return p.finish(&s, output)
	}
	d := s.Decision(merge)
	switch {
	case d == nil:
		return Command{Decide: merge}
	case d.Err != nil:
		return Command{Finish: true, Err: d.Err}
	}
	output, err := blocksOf(d.Value)
	if err != nil {
		return Command{Finish: true, Err: err}
	}
	return p.finish(&s, output)
}

// Decide implements [Decider].
func (p parallel) Decide(ctx context.Context, _ string, s Scope) (any, error) {
	order := make(map[string]int, len(p.nodes))
	for i, n := range p.nodes {
		order[n] = i
	}
	results := slices.Clone(s.Children)
	slices.SortStableFunc(results, func(a, b Child) int { return order[a.Node] - order[b.Node] })
	output, err := p.o.Merge(ctx, results)
	if err != nil {
		return nil, err
	}
	return valueOf(output)
}

// winner returns the first answer of a race; nil if there is none.
func (p parallel) winner(s *Scope) (won *Child) {
	if p.o.Policy != Race || s.Open+s.Failed == len(s.Children) {
		return nil
	}
	for i := range s.Children {
		if c := &s.Children[i]; !c.Open && c.Err == nil && (won == nil || c.Ended < won.Ended) {
			won = c
		}
	}
	return won
}

// next returns the agents that may begin.
func (p parallel) next(s *Scope) (list []Opening) {
	room := len(p.nodes)
	if p.o.AtOnce > 0 {
		room = p.o.AtOnce - s.Open
	}
	n := len(s.Children)
	var had map[string]bool // nil where the children are the first n nodes
	if n > len(p.nodes) || n > 0 && s.Children[n-1].Node != p.nodes[n-1] {
		// A run that continues a failed one has those that ended well.
		had, n = make(map[string]bool, n), 0
		for i := range s.Children {
			had[s.Children[i].Node] = true
		}
	}
	for ; n < len(p.nodes) && len(list) < room; n++ {
		if !had[p.nodes[n]] {
			list = append(list, Opening{Node: p.nodes[n], Agent: p.agents[n], Input: s.Input, Branch: p.branches[n]})
		}
	}
	return list
}

// stop ends the agents that still work.
func (p parallel) stop(s *Scope, won *Child) (cmd Command) {
	why := "the agent was stopped, because another one failed"
	if won != nil {
		why = fmt.Sprintf("the agent was stopped, because %q was quicker", won.Node)
	} else if failed := firstError(s); failed != nil {
		why = fmt.Sprintf("the agent was stopped, because %q failed", failed.Node)
	}
	for i := range s.Children {
		if s.Children[i].Open {
			cmd.Close = append(cmd.Close, Closing{
				Child: i, Err: &event.Error{Op: "flow", Kind: event.ErrCancelled, Message: why, Err: context.Canceled},
			})
		}
	}
	return cmd
}

// firstError returns the child that failed first.
func firstError(s *Scope) (failed *Child) {
	for i := range s.Children {
		if c := &s.Children[i]; c.Err != nil && (failed == nil || c.Ended < failed.Ended) {
			failed = c
		}
	}
	return failed
}

func (p parallel) fail(s *Scope) Command {
	failed := firstError(s)
	cmd := p.finish(s, failed.Output)
	cmd.Err, cmd.Stop = failed.Err, failed.Stop
	return cmd
}

func (p parallel) finish(s *Scope, output []event.Block) Command {
	return Command{Finish: true, Output: output, Escalate: escalated(s.Children), Notices: conflicts(s.Children)}
}

// conflicts reports the keys of the state that several agents have changed.
func conflicts(children []Child) []event.Notice {
	first, by := map[string]int{}, map[string][]string{}
	for i := range children {
		for _, key := range children[i].State {
			at, known := first[key]
			switch {
			case !known:
				first[key] = i
				continue
			case by[key] == nil:
				by[key] = []string{children[at].Node}
			}
			by[key] = append(by[key], children[i].Node)
		}
	}
	if len(by) == 0 {
		return nil
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(by)) {
		words = append(words, fmt.Sprintf("%q was changed by %s", key, strings.Join(by[key], ", ")))
	}
	data, err := json.Marshal(by)
	if err != nil {
		return nil
	}
	return []event.Notice{{Code: NoticeStateConflict, Text: strings.Join(words, "; "), Data: data}}
}

// valueOf writes blocks as the value of a decision, and blocksOf reads them.
func valueOf(blocks []event.Block) (json.RawMessage, error) {
	return event.AppendMessage(nil, event.Message{Role: event.RoleUser, Content: blocks})
}

func blocksOf(value json.RawMessage) ([]event.Block, *event.Error) {
	var m event.Message
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, &event.Error{Op: "flow", Kind: event.ErrInternal, Message: "the recorded decision holds no blocks", Err: err}
	}
	return m.Content, nil
}
