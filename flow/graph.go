package flow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Graph is the definition of an agent that runs nodes along edges. [Graph.Agent] makes the agent. A graph is plain data: changing
// it later does not change agents that were made of it.
//
// A run starts the entry nodes. When a node ends, the conditions of its edges are evaluated once and their results are
// written to the log. A node starts when enough of its incoming edges have brought a value ([Node.FanIn]) and one of these
// values is new. The run ends when nothing runs and nothing can start.
type Graph struct {
	// Name is the name of the agent.
	Name string
	// Nodes are the nodes, each with a name of its own.
	Nodes []Node
	// Edges lead from node to node.
	Edges []Edge
	// Entry names the nodes that start with the run, in order. Empty means all nodes without incoming edges.
	Entry []string
	// Answer names the nodes whose newest outputs are the answer of the graph, in order. Empty means every node at which a path
	// of the run ended, in the order of Nodes.
	Answer []string
	// Parallel bounds how many nodes run at the same time; 0 means no bound.
	Parallel int
}

// Node is a place in a [Graph]. Exactly one of Agent, Tool and Ask is set.
type Node struct {
	// Name identifies the node in its graph, in the log and after changes of the definition.
	Name string

	// Agent works in the node: an agent with a model, a [Func], a [Map], a graph or any other flow. One agent may work in
	// several nodes.
	Agent *braid.Agent
	// Tool is called with the node's input, which must be a JSON object, as its arguments. The result is the output.
	Tool tool.Tool
	// Ask is a question to a human. The answer is the output. While it is open the run waits without a process.
	Ask *Question

	// FanIn says how many incoming edges must have brought a value before the node starts. The zero value is [FanInAll].
	FanIn FanIn
	// Visits bounds how often the node may start. In every cycle at least one node must have such a bound, and the others
	// in it may leave it at 0 for no bound of their own. A node in no cycle starts once.
	Visits int
	// Feed says what the node's input is made of; see [Feed] for the zero value.
	Feed Feed
	// Input maps what the node gets to its input; nil means what Feed says. It must be pure, and its error fails the node.
	Input func(in Incoming) ([]event.Block, error)

	// Retries is how often the node starts again after an error. Limits and cancellation are never retried.
	Retries int
	// RetryWait is the time before the first retry. It doubles with each further one. 0 means no wait.
	RetryWait time.Duration
	// Timeout bounds one start of the node, including the time that it waits for answers. 0 means no bound.
	Timeout time.Duration

	// In and Out are JSON schemas of the input and the output. Where both ends of an edge declare one, building the graph
	// checks that the output fits the input. nil means not declared.
	In, Out json.RawMessage
}

// Question is what a human node asks.
type Question struct {
	// Text is the question. The node's input follows it as the context.
	Text string
	// Schema is the JSON schema of the answer; nil means a text.
	Schema json.RawMessage
}

// Edge leads from one node to another.
type Edge struct {
	From, To string
	// If is the condition under which the edge is taken. The zero value is always taken.
	If Condition
	// Else takes the edge if no other edge of From with a condition is taken. It excludes If.
	Else bool
	// Failed takes the edge if From ended with an error after its retries, and the graph goes on. The error's message is the
	// value. It excludes If and Else.
	Failed bool
}

// Condition decides whether an edge is taken.
type Condition struct {
	// Label names the condition in drawings and errors.
	Label string
	// Test decides. It is called once, when From has ended, and the log keeps its result. It may be slow: other nodes run
	// meanwhile. An error or a panic fails the graph.
	Test func(ctx context.Context, v Visit) (bool, error)
}

// Visit is one start of a node that has ended without an error.
type Visit struct {
	// Node is the node's name, and Number counts such ends of the node from 1.
	Node   string
	Number int
	// Output is the output. Text returns its text.
	Output []event.Block
}

// Text returns the text of the output.
func (v *Visit) Text() string { return event.TextOf(v.Output) }

// FanIn is the number of incoming edges that must have brought a value before a node starts.
type FanIn int

const (
	// FanInAll waits for all incoming edges. An edge that is never taken holds the node back for good.
	FanInAll FanIn = 0
	// FanInAny waits for one edge.
	FanInAny FanIn = 1
)

// FanInAtLeast waits for n edges.
func FanInAtLeast(n int) FanIn { return FanIn(n) }

// Feed says what the input of a node is made of. The zero value is [FeedTaskAndOutputs] for an agent, and [FeedOutputs] for a tool, a
// [Func], a [Map], a question and a node that declares [Node.In].
type Feed string

const (
	// FeedTaskAndOutputs is the input of the graph, and then each value under the name of its node, as in Strands.
	FeedTaskAndOutputs Feed = "task_and_outputs"
	// FeedOutputs is the values alone. Several are marked with the names of their nodes. An entry node gets the graph's input.
	FeedOutputs Feed = "outputs"
	// FeedTask is the input of the graph alone.
	FeedTask Feed = "task"
)

// Incoming is what a node's input is made of.
type Incoming struct {
	// Task is the input of the graph.
	Task []event.Block
	// Values are the newest values of the incoming edges that brought one, in the order of [Graph.Edges].
	Values []Value
	// Visit is the number of this start of the node, from 1.
	Visit int
}

// Value is what an edge brought.
type Value struct {
	// From is the node that the edge comes from.
	From string
	// Output is that node's output.
	Output []event.Block
}
