package drive

import (
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
)

// Transfer is a tool whose call hands its scope over to another agent, with [runningCall.Transfer].
type Transfer interface {
	tool.Tool
	// Targets are the agents that a call may name.
	Targets() []SubAgent
}

// Transfer hands the call's scope over once the call has ended. most bounds the transfers of the scope in this run.
func (c *runningCall) Transfer(b event.Transferred, most int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := &c.more().said
	if most > 0 && said.transfers >= most {
		return &event.Error{
			Op: "transfer", Kind: event.ErrLimit,
			Message: "the conversation was handed over " + strconv.Itoa(most) + " times in this run, which is as often as may be. " +
				"Answer the user yourself",
		}
	}
	if !c.closed {
		b.From, b.Brief = c.Agent, validText(b.Brief)
		said.transfer = &b
	}
	return nil
}

// counts tells a call how often its scope was handed over.
func (c *runningCall) counts(h *fold.Handover) {
	c.mu.Lock()
	if h != nil {
		c.more().said.transfers = h.Count
	}
	c.mu.Unlock()
}

// handBack gives a scope back to the agent that handed it over once.
func (d *activeRun) handBack(s *fold.Scope) {
	from := s.Agent
	to, _ := s.Returns()
	d.add(s, "", 0, &event.Transferred{From: from, To: to})
	words := "[The agent " + from + " has answered and gives the conversation back to you. Say what is still to be said, or end your turn.]"
	d.add(s, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: words}}, Why: event.WhyTransfer})
}

// sticky returns the agent that has the conversation when a run begins: the one that had it last, if a transfer left it there.
func (d *activeRun) sticky(was *fold.Run, sameSession, continues bool) string {
	if was == nil || was.Agent != d.cfg.agent.Name || !sameSession && !continues {
		return ""
	}
	to := was.Sticks(continues)
	if to == "" || d.agentOf(to) == nil {
		return ""
	}
	return to
}
