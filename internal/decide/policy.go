package decide

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/output"
)

// Policy is what a decision sees besides the log and the time: the settings of the agent that works in the scope, and what the
// driver knows. It is plain data, and a decision changes nothing of it.
type Policy struct {
	// Limits bound the scope's agent.
	Limits *Limits
	// Team holds the limits of all agents of the run by name. It is nil for a run without sub-agents.
	Team map[string]*Limits
	// Earlier is what the conversation's earlier runs have used; nil for nothing.
	Earlier *event.Spent

	// Sequential says that the calls of one answer run one after another.
	Sequential bool
	// Agents names the tools that are agents, and Polling the tools that are there to be asked again and again.
	Agents  []string
	Polling []string
	// Compaction says when the model is shown less of the conversation.
	Compaction Compaction
	// Output is what the scope's output must keep to; nil for nothing.
	Output *output.Form
	// ByTool says that the model which was asked last gives such output by a call.
	ByTool bool

	// Running are the steps that this driver runs now. A step that has begun in the log and is not among them was in flight
	// when another driver died.
	Running []string
	// Cancelled and Expired say that somebody, or the deadline, wants the run to end.
	Cancelled bool
	Expired   bool
	// Stop closes when the run is to end. A long check of an output ends then.
	Stop <-chan struct{}
}

func (p *Policy) runs(step string) bool { return slices.Contains(p.Running, step) }

// agent reports whether a tool is an agent.
func (p *Policy) agent(tool string) bool { return slices.Contains(p.Agents, tool) }
