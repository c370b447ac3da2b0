package fold

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Metrics count what a run did, over all its drives. What its models used, also of their
// caches, is Result.Usage.
type Metrics struct {
	// Cycles counts the root agent's; ModelCalls every attempt of every agent, summaries too,
	// ModelErrors those that gave no answer.
	Cycles      int
	ModelCalls  int
	ModelErrors int
	// ToolCalls counts the calls that began, ToolErrors the results that say that a call
	// failed. Tools splits them by tool, in the order of the first calls.
	ToolCalls  int
	ToolErrors int
	Tools      []ToolMetrics
	// Stragglers counts the calls that did not stop when they were to and were left behind.
	Stragglers int
	// Compactions counts how often less of the conversation was shown.
	Compactions int
	// Duration is from the run's first event to its end; ModelTime sums the
	// model calls that succeeded; TimeToFirstByte is the first one's.
	Duration        time.Duration
	ModelTime       time.Duration
	TimeToFirstByte time.Duration
}

// ToolMetrics count the calls of one tool.
type ToolMetrics struct {
	// Name is what the model called, which may be no tool of the agent.
	Name string
	// Calls counts the calls that began, Errors the results that say that one failed.
	Calls  int
	Errors int
	// Time sums how long the calls took, of an agent that is used as a tool from its call
	// to its result.
	Time time.Duration
}

// tool finds what is counted of a tool.
func (m *Metrics) tool(name string) *ToolMetrics {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i]
		}
	}
	m.Tools = append(m.Tools, ToolMetrics{Name: name})
	return &m.Tools[len(m.Tools)-1]
}

// Question is an open question of a waiting run.
type Question struct {
	event.Asked
	// Step and Scope say which call asks.
	Step  string
	Scope string
}
