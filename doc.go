// Package braid runs AI agents: a model, tools, and a loop between them.
//
//	model, err := models.Open("")
//	agent := braid.New("calc", model, braid.Func("add", "Adds two numbers.", add))
//	result, err := agent.Run(ctx, "3と5を足して")
//
// # Agents, conversations and runs
//
// An [Agent] is a name, instructions, a model and tools. It holds no conversation, and it serves any number of runs at
// once. [New] makes one of parts; [Agent.Err] reports what is wrong with them.
//
// A [Conversation] is one log of events (package event) and the state that is folded from it. The log is the truth: what
// the model sees, what a run did and what it cost are computed from it. [NewConversation] keeps the log in memory, [Open]
// in a store of package journal.
//
// A run goes from one input to one terminal event. [Agent.Run] returns its [Result]. [Agent.Stream] yields every event as
// it happens; breaking out of the loop cancels the run. [In] names the conversation of a run.
//
// # The loop
//
// The loop asks the model, runs the tools that the model asks for, and asks again. A pure function of the log decides each
// step (internal/decide). The driver writes one commit for what ended and what begins, sends the committed events, and
// runs the steps that have begun. A step that has ended is never run again.
//
// So an interrupted run continues where its log ends: after a question to a user, after a crash, in another process.
// [Agent.Resume] continues it. If a crash cut a tool call, the tool's effect decides: a pure or idempotent tool runs
// again, an unsafe one is reported as in doubt.
//
// # Tools
//
// [Func] makes a tool from a Go function. The schema comes from the type of its argument, and the model's arguments are
// checked against it. Errors, panics and timeouts of a tool are results for the model; they never end the run. Package
// tool has the interface, the options and what a running call may do: report progress, read the state, ask a user.
//
// An agent is a tool for another one with [AsTool]. Package flow has agents that are made of other agents.
//
// # Questions and permissions
//
// [Ask] asks a user from inside a tool. The run then waits, and holds neither a goroutine nor a lease. [Permit] asks
// before the tools that a policy names. [Conversation.Answer] answers, from any process and on any day.
//
// # Control
//
// [On] adds a hook: a function at one place of the loop, which may change or refuse what comes next. The type of its
// argument names the place; package hook has these types. [Limit] bounds model calls, tokens, money and time. [Guard]
// checks or masks texts. [Fallback] names further models, [Manage] decides what the model no longer sees of a long
// conversation. [OutputType] asks for output of a Go type, and [RunAs] returns it.
//
// # What is durable
//
// Durable events are in the store before anybody sees them, in the order of their Seq. Live events (pieces of text, progress
// of tools) exist only on the stream; the event that ends a message repeats its whole text.
//
// # Errors
//
// Every error is an *event.Error with a kind, a message for users and a hint. A run that reached a limit, was cancelled or
// failed returns an error of that kind beside a result that holds what was done until then. Bad input loses nothing: the
// conversation stays usable.
//
// # Concurrency
//
// Agents and conversations are safe for concurrent use. One run of a conversation is driven at a time: a second one is
// refused with a kind that says so, waits or joins, as [During] says. Every goroutine that a run starts ends with it,
// except a tool or a model that ignores its context. After a grace period that one is abandoned and named in the log.
//
// # Reading the code
//
// This package is what programs name. internal/drive drives runs: begin with its loop.go, which holds the iteration.
// internal/decide decides, and internal/fold is what it decides from. docs/architecture.md shows the whole.
package braid
