package flow

import (
	"context"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Sleep returns an agent that waits and then answers with what it was asked. A run in which nothing else works is parked: it
// holds no goroutine, connection or lease, and the engine of a server goes on with it in time, in any process. In a program of
// your own, Run waits, and a [braid.Agent.Resume] after a crash waits for the rest. The time counts from when the agent was
// asked, as the log has it.
func Sleep(name string, d time.Duration) *braid.Agent { return braid.NewFlow(name, sleep(d)) }

// sleep is the kind of [Sleep].
type sleep time.Duration

// Next implements [Kind].
func (d sleep) Next(s Scope) Command {
	if until := s.Began.Add(time.Duration(d)); s.Now.Before(until) {
		return Command{Until: until}
	}
	return Command{Finish: true, Output: s.Input}
}

// WaitFor returns an agent that waits until somebody reports an event, and answers with its value. The run waits for an external
// answer as for an answer of a user: the [event.Question] has the kind [event.AskExternal] and the event as its name, and
// [braid.Conversation.Answer] or a server's route for answers brings the value, which must fit T. It may take days. A run in
// which nothing else works holds no goroutine, connection or lease meanwhile.
func WaitFor[T any](name, eventName string) *braid.Agent {
	return Func(name, func(ctx context.Context, in string) (T, error) {
		return braid.Ask[T](ctx, in, tool.AskFor(event.AskExternal), tool.AskName(eventName))
	}, tool.Pure())
}
