// Package kind holds what a kind of agent is written against: package flow says how. It is apart from flow so that the root
// package can use it.
package kind

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Kind is a kind of agent: it decides which of its agents work, on what, and what comes of it. Agents made of it keep nothing
// between decisions, so one Kind may serve any number of runs at once.
type Kind interface {
	// Next decides what a scope of such an agent does next. It must be pure: the same Scope gives the same Command, in every
	// process and after a crash, so that a run goes on as it would have. It must not block. Braid calls it again whenever
	// a child has ended or Until is past. A panic fails the run.
	Next(s Scope) Command
}

// Scope is what the log says of one agent's work. Next must not change it.
type Scope struct {
	// Agents are the names of the agents that it may open, in the order in which they were given.
	Agents []string
	// Input is what it was asked.
	Input []event.Block
	// Children are the scopes that it has opened for that input, in the order of opening.
	Children []Child
	// Now is the time of the decision.
	Now time.Time
}

// Child is an agent's work inside the scope.
type Child struct {
	// Node and Agent are as the scope was opened.
	Node  string
	Agent string
	// Open says that it is still at work. The fields below are set when it is not.
	Open bool
	// Output is what it answered: text, pictures, documents and other media.
	Output []event.Block
	// Stop says how it ended.
	Stop event.StopReason
	// Err is why it ended without an answer; nil if it has one.
	Err *event.Error
}

// Command is what Next decides. Its zero value waits until a child ends.
type Command struct {
	// Open are the agents to begin, all at once.
	Open []Opening
	// Finish ends the scope. Braid waits until no child is open any more, and asks again.
	Finish bool
	// Output is the scope's answer; it goes with Finish.
	Output []event.Block
	// Err ends the scope without an answer, and Stop says how; they go with Finish. The result of an agent has Err beside it.
	Err  *event.Error
	Stop event.StopReason
	// Until is when to ask again, if nothing else happens before; zero means never.
	Until time.Time
}

// Opening is an agent's work that is to begin.
type Opening struct {
	// Node names its place, such as a node of a graph. It may be empty, and need not be unique.
	Node string
	// Agent is the name of one of the scope's agents.
	Agent string
	// Input is what it is asked.
	Input []event.Block
}
