package drive

import (
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
)

// speaks lets the call speak for its scope.
func (c *runningCall) speaks(input []event.Block, limit int) {
	c.mu.Lock()
	said := &c.more().said
	said.may, said.input, said.limit = true, input, limit
	c.mu.Unlock()
}

// Input is what the scope of a function of a flow was asked; nil for other calls.
func (c *runningCall) Input() []event.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.extra == nil {
		return nil
	}
	return c.extra.said.input
}

// mostSaid bounds the messages of one call.
const mostSaid = 1000

// Say adds a message of the scope's author. It is written with the end of the call. Package flow has it as Emit.
func (c *runningCall) Say(content []event.Block) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := &c.more().said
	switch n := bytesOf(content); {
	case c.closed:
		return errSaidAfter
	case !said.may:
		return errNoAuthor
	case len(said.list) >= mostSaid || said.limit > 0 && said.bytes+n > said.limit:
		return &event.Error{Op: "emit", Kind: event.ErrTooLarge, Message: "the function has emitted as much as it may", Hint: "return the rest"}
	default:
		said.list, said.bytes = append(said.list, slices.Clone(content)), said.bytes+n
		return nil
	}
}

var (
	errSaidAfter = errors.New("the function has returned already")
	errNoAuthor  = &event.Error{
		Op: "emit", Kind: event.ErrUnsupported, Message: "a tool of a model cannot speak for its agent",
		Hint: "emit in a function of a flow, flow.Func",
	}
)

// Escalate asks the loop around the call's scope to stop once the scope has ended. Package flow has it by this name.
func (c *runningCall) Escalate(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		said := &c.more().said
		said.escalated, said.reason = true, validText(reason)
	}
}

// writeSaid writes what an ended call has said.
func (d *activeRun) writeSaid(w *Work) {
	x := w.call.extra
	if x == nil {
		return
	}
	guards := d.guardsOf(w.agent, guardrail.Output)
	for _, content := range x.said.list {
		passed, by, err := d.filterBlocks(guards, content)
		if err != nil {
			d.failWith(err)
			return
		}
		d.add(w.scope, "", 0, &event.AssistantMessage{Content: passed, Stop: event.StopEndTurn})
		d.record(w.scope, "", 0, by)
	}
	if x.said.escalated {
		d.add(w.scope, w.step, w.attempt, &event.Escalated{Reason: x.said.reason})
	}
	if b := x.said.transfer; b != nil && w.end.made != nil && !w.end.made.IsError {
		d.add(w.scope, w.step, w.attempt, b)
	}
}
