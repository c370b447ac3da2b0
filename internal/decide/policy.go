package decide

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/output"
)

// Policy is what a decision reads besides the log and the time: the settings of the scope's agent, and what the driver
// knows. It is plain data, and a decision does not change it.
type Policy struct {
	// Limits bound the scope's agent.
	Limits *Limits
	// Team holds the limits of all agents of the run by name. It is nil for a run without sub-agents.
	Team map[string]*Limits
	// Earlier is what the conversation's earlier runs used; nil for nothing.
	Earlier *event.Spent

	// Sequential makes the calls of one answer run one after another.
	Sequential bool
	// Agents names the tools that are agents.
	Agents []string
	// Polling names the tools for polling, whose repeated calls do not count.
	Polling []string
	// Compaction says when the transcript is shortened.
	Compaction Compaction
	// Output is the form of the scope's output; nil for any.
	Output *output.Form
	// ByTool reports whether the model called last gives structured output by a tool call.
	ByTool bool

	// Running are the steps that this driver runs now. A step that began in the log and is not among them was in flight
	// when another driver stopped.
	Running []string
	// Cancelled reports whether the run is cancelled.
	Cancelled bool
	// Expired reports whether the run is past its deadline.
	Expired bool
	// Stop closes when the run must end. It ends a long check of an output.
	Stop <-chan struct{}
}

func (p *Policy) runs(step string) bool { return slices.Contains(p.Running, step) }

// agent reports whether a tool is an agent.
func (p *Policy) agent(tool string) bool { return slices.Contains(p.Agents, tool) }
