// Package braid runs AI agents: a model, tools, and a loop between them.
//
//	model, err := models.Open("")
//	agent := braid.New("calc", model, braid.Func("add", "Adds two numbers.", add))
//	result, err := agent.Run(ctx, "3と5を足して")
//
// An [Agent] is a name, instructions, a model and tools; it holds no
// conversation and serves any number of runs at once. A [Conversation] is one log
// of events (package event) and the state folded from it. A run goes from one
// input to one terminal event; [Agent.Run] gives its [Result], [Agent.Stream]
// every event on the way.
//
// What happens next is decided by a pure function of the log (next, in loop.go), and
// nothing else: a run that was interrupted, by a question to a person or by a
// crash, goes on where the log ends. Finished steps are never repeated.
//
// To read the code, begin with loop.go (the decision and the iteration), then
// package internal/fold (what it decides from, and what the model sees) and
// drive.go (what writes, sends and runs).
package braid
