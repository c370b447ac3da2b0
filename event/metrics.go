package event

import "time"

// Metrics counts what a run did, over all its drives. The tokens that its models used are its [Usage].
type Metrics struct {
	// Cycles counts the root agent's cycles.
	Cycles int
	// ModelCalls counts every attempt of every agent, summaries included.
	ModelCalls int
	// ModelErrors counts the attempts that gave no answer.
	ModelErrors int
	// ToolCalls counts the calls that began.
	ToolCalls int
	// ToolErrors counts the results that report a failed call.
	ToolErrors int
	// Tools splits both by tool, in the order of the first calls.
	Tools []ToolMetrics
	// Stragglers counts the calls that did not stop when the run stopped and were left behind.
	Stragglers int
	// Compactions counts how often less of the conversation was shown.
	Compactions int
	// Duration is the time from the run's first event to its end.
	Duration time.Duration
	// ModelTime sums the model calls that succeeded.
	ModelTime time.Duration
	// TimeToFirstByte is that of the first model call.
	TimeToFirstByte time.Duration
	// Nodes splits what the run used by the nodes of its flows, in the order in which they began; nil for a run without
	// flows. It has at most [MaxNodeMetrics] nodes; one more entry, without a name, sums the others.
	Nodes []NodeMetrics
}

// MaxNodeMetrics bounds the nodes of [Metrics].
const MaxNodeMetrics = 1000

// NodeMetrics is what one node of a flow used, over all its starts.
type NodeMetrics struct {
	// Node is the path of nodes from the root agent, joined by slashes. A place without a name is its agent's name.
	Node string
	// Agent is the agent that works in it.
	Agent string
	// Starts counts how often it started, and Failed how often it ended with an error.
	Starts, Failed int
	// Spent is what it used with everything below it. Active is not set.
	Spent Spent
}

// ToolMetrics counts the calls of one tool.
type ToolMetrics struct {
	// Name is the name that the model called. The agent may have no such tool.
	Name string
	// Calls counts the calls that began.
	Calls int
	// Errors counts the results that report a failed call.
	Errors int
	// Time sums how long the calls took. A call of an agent used as a tool lasts from the call to its result.
	Time time.Duration
}

// Question is an open question of a waiting run.
type Question struct {
	Asked
	// Step is the call that asks.
	Step string
	// Scope is the call's scope; "" for the root agent's.
	Scope string
}
