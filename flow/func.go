package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/tool"
)

// Func returns an agent that runs a Go function in the place of a model. It is used like any other agent.
//
// In is what the agent is asked: a string gets the text, []event.Block gets all of it, and any other type is read from the text,
// which is JSON then. Out becomes the answer, as with [braid.Func]: a string is text, blocks are taken as they are, and
// anything else is JSON.
//
// The call is one step in the log. A finished call never runs again. What happens to a call that a crash has interrupted is
// said by its effect: with [tool.Pure] or [tool.Idempotent] it runs again, with [tool.Reconcile] the outside is asked, and
// without any of them it is in doubt and the agent ends with an error. [tool.Timeout] and [tool.Retries] hold, too. An error, a
// panic and a time-out are recorded as the agent's error.
//
// In fn's context, [tool.State] reads and sets the state, [braid.Ask] asks a user while the run waits, [Emit] says something as
// the agent, and [Escalate] stops the loop around it.
func Func[In, Out any](name string, fn func(ctx context.Context, in In) (Out, error), opts ...tool.Option) *braid.Agent {
	var run func(context.Context, funcArgs) (Out, error)
	if fn != nil {
		run = func(ctx context.Context, args funcArgs) (out Out, err error) {
			in, err := inputAs[In](ctx, args.Input)
			if err != nil {
				return out, err
			}
			return fn(ctx, in)
		}
	}
	return braid.NewFlow(name, funcKind{tool.Func(name, "Runs Go code.", run, opts...)})
}

// funcArgs are the arguments of the call.
type funcArgs struct {
	Input string `json:"input"`
}

// funcKind is the [Worker] of a function.
type funcKind struct{ tool tool.Tool }

// Next implements [Kind]. It is not called.
func (funcKind) Next(Scope) Command { return Command{Finish: true} }

// Tool implements [Worker].
func (k funcKind) Tool() tool.Tool { return k.tool }

// inputAs returns an agent's input as T.
func inputAs[T any](ctx context.Context, text string) (in T, err error) {
	switch p := any(&in).(type) {
	case *string:
		*p = text
		return in, nil
	case *[]event.Block:
		if h, ok := hostOf(ctx).(interface{ Input() []event.Block }); ok {
			*p = h.Input()
		} else {
			*p = []event.Block{&event.Text{Text: text}}
		}
		return in, nil
	}
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Struct {
		var plan *argtype.Type
		if plan, err = argtype.Of(t); err == nil {
			err = plan.Decode(json.RawMessage(text), &in)
		}
	} else {
		err = json.Unmarshal([]byte(text), &in)
	}
	if err != nil {
		return in, &event.Error{
			Op: "flow", Kind: event.ErrInvalid, Message: fmt.Sprintf("the input is not JSON of the type %s: %v", t, err), Err: err,
		}
	}
	return in, nil
}

func hostOf(ctx context.Context) tool.Host {
	if c := tool.CallOf(ctx); c != nil {
		return c.Host()
	}
	return nil
}

// Emit says a text as the agent of a [Func], before its answer. Watchers see it at once as progress of the call, and the log has
// it as a message of the agent once fn has returned. It is not part of the answer. It returns an error outside of a Func.
func Emit(ctx context.Context, text string) error {
	h, ok := hostOf(ctx).(interface {
		Say(content []event.Block) error
	})
	if !ok {
		return tool.NoCall("flow.Emit")
	}
	if err := h.Say([]event.Block{&event.Text{Text: text}}); err != nil {
		return err
	}
	tool.Progress(ctx, text)
	return nil
}

// Escalate asks the [Loop] around an agent to stop once the agent has ended. It works in the context of a [Func] and of every
// tool. The log has it with the end of the call. Outside of a call it does nothing.
func Escalate(ctx context.Context, reason string) {
	if h, ok := hostOf(ctx).(interface{ Escalate(reason string) }); ok {
		h.Escalate(reason)
	}
}
