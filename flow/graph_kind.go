package flow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/draw"
)

// graphKind is the [Kind] of a [Graph]. It never changes.
type graphKind struct {
	Graph

	shape  *shape
	at     map[string]int
	cyclic []bool
	// agents are the names of the agents that work in the nodes.
	agents []string
	// conditional reports for each node whether an outgoing edge has a condition.
	conditional []bool
	// outline is what the log keeps of the definition.
	outline json.RawMessage
}

// graphState is what a graph derives from the log of one scope. It advances event by event, so a decision costs as much as has
// happened since the one before.
type graphState struct {
	// of is the graph that it was made for. Numbers of nodes and edges are those of its definition.
	of    *graphKind
	nodes []nodeState
	// values are the newest values of the edges, and fresh says which of them no start has used.
	values []*Value
	fresh  []bool
	// nodeOf is the node of each child that was applied.
	nodeOf []int32
	// opened, ended and decided count what was applied.
	opened, ended, decided int
	// open are the children that work.
	open []int
	// undecided are the ends whose edges wait for their conditions.
	undecided []ending
	decisions map[string]*Decision
	// ready are the nodes that can start, in the order in which they became able to. Only the log decides that order. An entry
	// whose stamp is not its node's has started, and is dropped in the next pass. stamps counts the entries.
	ready  []turn
	stamps int
	// retries are the nodes that start again, with the time.
	retries []retry
	// outlined reports whether the log has the outline.
	outlined bool
	// closed are the children that were closed because their time was over, with the time of the command.
	closed map[int]time.Time
	// fault is why the graph cannot go on.
	fault *event.Error
	stop  event.StopReason
}

// nodeState is where a node is.
type nodeState struct {
	// visits counts its starts without retries, ended its ends without an error, and failures the errors of the current visit.
	visits, ended, failures int
	// have and fresh count the incoming edges with a value, and with one that no start has used.
	have, fresh int
	// entry is set until an entry node has started.
	entry, running bool
	// queued is the stamp of its entry in ready; 0 if it has none.
	queued int
	// last is the child of the newest visit, plus 1. took reports whether an edge was taken from it.
	last int
	took bool
}

// turn is an entry in the list of nodes that can start.
type turn struct{ node, stamp int }

// ending is the end of a child without an error. name is that of the decision about its edges.
type ending struct {
	child int
	name  string
}

// retry is a node that starts again.
type retry struct {
	node, child int
	at          time.Time
}

// Next implements [Kind]. These rules apply in order:
//
//  1. Write the outline of the graph to the log.
//  2. Evaluate the conditions of a node that has ended.
//  3. If something failed for good, close what is open and end with the error.
//  4. Close nodes whose time is over.
//  5. Start what can start.
//  6. If nothing is open and nothing can start, end with the answer.
func (k *graphKind) Next(s Scope) Command {
	st := k.state(&s)
	if !st.outlined {
		return Command{Decide: draw.OutlineName}
	}
	if st.fault == nil && len(st.undecided) > 0 {
		return Command{Decide: st.undecided[0].name}
	}
	if st.fault != nil {
		return Command{Close: closings(st.open, nil), Finish: true, Err: st.fault, Stop: st.stop}
	}
	cmd := Command{}
	if k.expire(&s, st, &cmd); len(cmd.Close) > 0 {
		return cmd
	}
	k.start(&s, st, &cmd)
	switch {
	case cmd.Err != nil:
		return Command{Close: closings(st.open, nil), Finish: true, Err: cmd.Err, Stop: cmd.Stop}
	case len(cmd.Open) > 0 || len(st.open) > 0 || len(st.retries) > 0:
		return cmd
	}
	return Command{Finish: true, Output: k.answer(&s, st)}
}

// closings ends the children with an error.
func closings(open []int, err *event.Error) (list []Closing) {
	for _, child := range open {
		list = append(list, Closing{Child: child, Err: err})
	}
	return list
}

// state returns what the log says, from the memory of the last decision where there is one.
func (k *graphKind) state(s *Scope) *graphState {
	var st *graphState
	if s.Memo != nil {
		st, _ = (*s.Memo).(*graphState)
	}
	if st == nil || st.of != k || st.opened > len(s.Children) || st.decided > len(s.Decisions) {
		st = &graphState{
			of: k, nodes: make([]nodeState, len(k.Nodes)), values: make([]*Value, len(k.Edges)), fresh: make([]bool, len(k.Edges)),
			decisions: make(map[string]*Decision),
		}
		for _, n := range k.shape.entry {
			st.nodes[n].entry = true
			st.queue(k, n)
		}
		if s.Memo != nil {
			*s.Memo = st
		}
	}
	for ; st.decided < len(s.Decisions); st.decided++ {
		d := &s.Decisions[st.decided]
		st.outlined = st.outlined || d.Name == draw.OutlineName
		if strings.HasPrefix(d.Name, draw.EdgesPrefix) {
			st.decisions[d.Name] = &Decision{Name: d.Name, Value: d.Value, Err: d.Err}
		}
	}
	k.advance(s, st)
	return st
}

// advance applies the ends and starts of children in the order in which they happened.
func (k *graphKind) advance(s *Scope, st *graphState) {
	st.settle(k, s)
	for st.opened < len(s.Children) || st.ended < len(s.Ended) {
		if st.opened < len(s.Children) && (st.ended == len(s.Ended) || s.Children[st.opened].After < s.Children[s.Ended[st.ended]].Ended) {
			k.opened(s, st, st.opened)
			st.opened++
			continue
		}
		k.ended(s, st, s.Ended[st.ended])
		st.ended++
		st.settle(k, s)
	}
}

// opened applies the start of a child: its node uses the values that are there.
func (k *graphKind) opened(s *Scope, st *graphState, child int) {
	c := &s.Children[child]
	n, known := k.at[c.Node]
	if !known {
		st.nodeOf = append(st.nodeOf, -1)
		st.open = append(st.open, child)
		if c.Open {
			st.missing(k, c.Node)
		}
		return
	}
	st.nodeOf = append(st.nodeOf, int32(n))
	st.open = append(st.open, child)
	one := &st.nodes[n]
	one.running = true
	if again := slices.IndexFunc(st.retries, func(r retry) bool { return r.node == n }); again >= 0 {
		st.retries = slices.Delete(st.retries, again, again+1)
	} else {
		one.visits, one.failures, one.fresh = one.visits+1, 0, 0
		one.entry, one.queued = false, 0
		for _, e := range k.shape.in[n] {
			st.fresh[e] = false
		}
	}
	one.last, one.took = child+1, false
}

// missing records that the log has a node that the definition no longer has.
func (st *graphState) missing(k *graphKind, name string) {
	st.fault = &event.Error{
		Op: "graph " + k.Name, Kind: event.ErrInvalid, Message: fmt.Sprintf("the run is in node %q, which the graph no longer has", name),
		Hint: "add the node again and retry the run, or begin another run",
	}
}

// ended applies the end of a child.
func (k *graphKind) ended(s *Scope, st *graphState, child int) {
	if i := slices.Index(st.open, child); i >= 0 {
		st.open = slices.Delete(st.open, i, i+1)
	}
	n, c := int(st.nodeOf[child]), &s.Children[child]
	if n < 0 {
		if c.Err != nil {
			st.missing(k, c.Node)
		}
		return // a node that the graph no longer has leads nowhere
	}
	one := &st.nodes[n]
	one.running = false
	if c.Err == nil {
		one.ended++
		if k.conditional[n] {
			st.undecided = append(st.undecided, ending{child, draw.EdgesName(c.Node, one.ended)})
			return
		}
		for _, e := range k.shape.out[n] {
			if !k.Edges[e].Failed {
				st.take(k, e, c.Output)
			}
		}
		st.queue(k, n)
		return
	}
	one.failures++
	if one.failures <= k.Nodes[n].Retries && again(c.Err) {
		wait := k.Nodes[n].RetryWait << min(one.failures-1, maxDoublings)
		st.retries = append(st.retries, retry{node: n, child: child, at: c.Closed.Add(wait)})
		return
	}
	caught := false
	for _, e := range k.shape.out[n] {
		if k.Edges[e].Failed {
			caught = true
			st.take(k, e, []event.Block{&event.Text{Text: c.Err.Message}})
		}
	}
	if !caught {
		st.fault, st.stop = failure(k.Name, c), c.Stop
		return
	}
	st.queue(k, n)
}

// maxDoublings bounds the doubling of a wait.
const maxDoublings = 16

// again reports whether a node may start again after an error.
func again(err *event.Error) bool {
	return err.Kind != event.ErrLimit && err.Kind != event.ErrCancelled
}

// failure is the error of a graph whose node has failed.
func failure(graph string, c *Child) *event.Error {
	err := *c.Err
	err.Op = "graph " + graph
	err.Message = fmt.Sprintf("node %q: %s", c.Node, c.Err.Message)
	return &err
}

// settle applies the decisions about children that have ended.
func (st *graphState) settle(k *graphKind, s *Scope) {
	st.undecided = slices.DeleteFunc(st.undecided, func(end ending) bool {
		d := st.decisions[end.name]
		if d == nil {
			return false
		}
		c, n := &s.Children[end.child], int(st.nodeOf[end.child])
		var to []string
		if err := json.Unmarshal(d.Value, &to); d.Err != nil || err != nil {
			st.fault, st.stop = undecided(k.Name, c.Node, d.Err), event.StopError
			return true
		}
		for _, name := range to {
			if _, known := k.at[name]; !known {
				st.missing(k, name)
				return true
			}
			for _, e := range k.shape.out[n] {
				if k.Edges[e].To == name {
					st.take(k, e, c.Output)
				}
			}
		}
		st.queue(k, n)
		return true
	})
}

func undecided(graph, node string, cause *event.Error) *event.Error {
	err := event.Error{Kind: event.ErrInternal, Message: "the log has no list of nodes"}
	if cause != nil {
		err = *cause
	}
	err.Op = "graph " + graph
	err.Message = fmt.Sprintf("the conditions after node %q: %s", node, err.Message)
	return &err
}

// take gives an edge its value.
func (st *graphState) take(k *graphKind, e int, output []event.Block) {
	to := &st.nodes[k.shape.to[e]]
	if st.values[e] == nil {
		to.have++
	}
	if !st.fresh[e] {
		to.fresh++
	}
	st.values[e], st.fresh[e] = &Value{From: k.Edges[e].From, Output: output}, true
	st.nodes[k.shape.from[e]].took = true
	st.queue(k, k.shape.to[e])
}

// queue puts a node at the end of ready if it can start and is not there.
func (st *graphState) queue(k *graphKind, n int) {
	one := &st.nodes[n]
	if one.queued > 0 || one.running || !k.can(one, n) || k.late(one, n) {
		return // its end or a further value comes here again
	}
	st.stamps++
	one.queued = st.stamps
	st.ready = append(st.ready, turn{n, st.stamps})
}

// expire closes children whose time is over, and says when the next one's is.
func (k *graphKind) expire(s *Scope, st *graphState, cmd *Command) {
	for _, child := range st.open {
		limit := time.Duration(0)
		if n := st.nodeOf[child]; n >= 0 {
			limit = k.Nodes[n].Timeout
		}
		if limit == 0 {
			continue
		}
		c := &s.Children[child]
		switch end, asked := c.Began.Add(limit), st.closed[child]; {
		case s.Now.Before(end):
			until(cmd, end)
		case s.Now.Before(asked.Add(closeAgain)):
			until(cmd, asked.Add(closeAgain))
		default:
			if st.closed == nil {
				st.closed = make(map[int]time.Time)
			}
			st.closed[child] = s.Now
			cmd.Close = append(cmd.Close, Closing{Child: child, Err: &event.Error{
				Op: "graph " + k.Name, Kind: event.ErrTimeout, Message: fmt.Sprintf("node %q took longer than %s", c.Node, limit),
				Hint: "give the node more time, or ask for less",
			}})
		}
	}
}

// closeAgain is how long a graph waits for a child that it has closed before it closes it again. The memory of a decision
// may outlive the driver that was told.
const closeAgain = time.Minute

// start opens the nodes that can start.
func (k *graphKind) start(s *Scope, st *graphState, cmd *Command) {
	free := len(k.Nodes)
	if k.Parallel > 0 {
		free = k.Parallel - len(st.open)
	}
	for _, r := range st.retries {
		switch {
		case s.Now.Before(r.at):
			until(cmd, r.at)
		case free > 0:
			free--
			c := &s.Children[r.child]
			input, err := k.input(s, st, r.node, st.nodes[r.node].visits)
			if err != nil {
				cmd.Err, cmd.Stop = err, event.StopError
				return
			}
			cmd.Open = append(cmd.Open, Opening{Node: c.Node, Agent: k.agents[r.node], Input: input})
		}
	}
	st.ready = slices.DeleteFunc(st.ready, func(t turn) bool { return st.nodes[t.node].queued != t.stamp })
	for _, t := range st.ready {
		n, one := t.node, &st.nodes[t.node]
		switch limit := k.Nodes[n].Visits; {
		case one.running || one.failures > 0 && st.retrying(n):
			continue
		case limit > 0 && one.visits >= limit:
			cmd.Err, cmd.Stop = overrun(k.Name, &k.Nodes[n]), event.StopLimitCycles
			return
		case free <= 0:
			return
		}
		input, err := k.input(s, st, n, one.visits+1)
		if err != nil {
			cmd.Err, cmd.Stop = err, event.StopError
			return
		}
		free--
		cmd.Open = append(cmd.Open, Opening{Node: k.Nodes[n].Name, Agent: k.agents[n], Input: input})
	}
}

// can reports whether a node has what it waits for.
func (k *graphKind) can(one *nodeState, n int) bool {
	return one.entry || one.fresh > 0 && one.have >= k.shape.needs(&k.Graph, n)
}

// late reports whether a node has run and needs no further value: it is in no cycle, and [FanInAny] or [FanInAtLeast] had enough.
func (k *graphKind) late(one *nodeState, n int) bool {
	return one.visits > 0 && !k.cyclic[n] && one.visits >= max(1, k.Nodes[n].Visits)
}

// retrying reports whether a node waits for its next attempt.
func (st *graphState) retrying(n int) bool {
	return slices.ContainsFunc(st.retries, func(r retry) bool { return r.node == n })
}

func overrun(graph string, n *Node) *event.Error {
	return &event.Error{
		Op: "graph " + graph, Kind: event.ErrLimit, Code: string(event.StopLimitCycles),
		Message: fmt.Sprintf("node %q has started as often as it may (%d)", n.Name, n.Visits), Hint: "raise Visits, or end the cycle by a condition",
	}
}

// until asks to be asked again at a time.
func until(cmd *Command, at time.Time) {
	if cmd.Until.IsZero() || at.Before(cmd.Until) {
		cmd.Until = at
	}
}
