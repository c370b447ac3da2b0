package native

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// NodeStart says that an agent begins to work at a place of a flow, such as a branch or the node of a graph.
type NodeStart struct {
	// Scope names the work within the run. The frames of the agent's steps have it before the last slash of their step.
	Scope string `json:"scope"`
	// ParentScope is that of the flow; empty for the run's own agent.
	ParentScope string `json:"parent_scope,omitempty"`
	Agent       string `json:"agent"`
	// Node is the place in the flow; empty if it has no name.
	Node string `json:"node,omitempty"`
	// Branch is the dotted path of parallel branches.
	Branch string `json:"branch,omitempty"`
	// Parent is the tool call that the flow works for; empty for the run's own flow.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

// NodeEnd says that this work has ended.
type NodeEnd struct {
	Scope string `json:"scope"`
	// Agent is the one that had the scope last.
	Agent string `json:"agent"`
	// Status is completed, failed or cancelled.
	Status     event.RunStatus `json:"status"`
	Error      *Error          `json:"error,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	// Parent is the tool call that the flow works for; empty for the run's own flow.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

// FrameName implements [Frame].
func (*NodeStart) FrameName() string { return "node_start" }

// FrameName implements [Frame].
func (*NodeEnd) FrameName() string { return "node_end" }

// FrameName implements [Frame].
func (*Transfer) FrameName() string { return "transfer" }

// nodeOpened sends the beginning of an agent that works at a place of a flow. Agents that work for a call are shown by it.
func (enc *Encoder) nodeOpened(it *story.Item, b *event.ScopeOpened) {
	if it.Opened == nil || !it.Opened.Own.Node {
		return
	}
	enc.send(&NodeStart{
		Scope: b.ID, ParentScope: b.Parent, Agent: b.Agent, Node: b.Node, Branch: it.Event.Branch, Parent: it.Agent.Call,
	})
}

// nodeClosed sends the end of such an agent.
func (enc *Encoder) nodeClosed(it *story.Item, b *event.ScopeClosed) {
	a := it.Closed
	if a == nil || !a.Own.Node {
		return
	}
	f := &NodeEnd{Scope: b.ID, Agent: a.Agent, Status: event.RunCompleted, Parent: a.Call}
	if began := a.Own.Opened; !began.IsZero() {
		f.DurationMS = it.Event.Time.Sub(began).Milliseconds()
	}
	if b.Err != nil {
		f.Status, f.Error = event.RunFailed, errorOf(b.Err)
		if b.Why == event.WhyCancelled || b.Why == event.WhyDeadline || b.Err.Kind == event.ErrCancelled {
			f.Status = event.RunCancelled
		}
	}
	enc.send(f)
}

func (f *NodeStart) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"scope":`, f.Scope)
	o.strOpt(`"parent_scope":`, f.ParentScope)
	o.str(`"agent":`, f.Agent)
	o.strOpt(`"node":`, f.Node)
	o.strOpt(`"branch":`, f.Branch)
	o.strOpt(`"parent_tool_use_id":`, f.Parent)
	return o.close()
}

func (f *NodeEnd) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"scope":`, f.Scope)
	o.str(`"agent":`, f.Agent)
	o.str(`"status":`, string(f.Status))
	o.errorOpt(f.Error)
	o.intOpt(`"duration_ms":`, f.DurationMS)
	o.strOpt(`"parent_tool_use_id":`, f.Parent)
	return o.close()
}

func (f *Transfer) append(dst []byte) []byte {
	o := open(dst)
	o.strOpt(`"from":`, f.From)
	o.str(`"to":`, f.To)
	o.strOpt(`"scope":`, f.Scope)
	o.place(&f.Place)
	return o.close()
}
