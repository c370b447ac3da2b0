package braid

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
)

// On adds a hook: a function that the agent calls at one point of its loop. The type of the function's argument names the
// point: a type of package [hook] or [Made].
//
// Hooks of one point are called one after another. A lower [Order] comes first. Among equals, hooks before something are
// called in the order in which they were added, and hooks after something in reverse. The first hook before something
// that cancels or fails is the last one called. If one asks a user, those after it are called so that all ask in one
// round. Hooks after something are all called, also if it failed or was cancelled.
//
// An error or a panic of a hook ends what the hook decides about, never the process: a tool call gets an error result, a
// model call fails, and any other hook fails the run.
//
// Braid commits what has ended before it calls a hook. A driver that takes a run over goes by the log for what had begun,
// and calls the hooks for what had not. So a hook may be called again for the same call, and must stop when its context is
// cancelled. Hooks of different runs are called at the same time.
func On[E hook.Event | Made](f func(ctx context.Context, e *E) error, opts ...HookOption) Part {
	return partFunc(func(a *Agent) error {
		if f == nil {
			return &event.Error{Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: "a hook is nil", Hint: "leave it out"}
		}
		h := hooks.Hook{Call: func(ctx context.Context, e any) error { return f(ctx, e.(*E)) }}
		for _, o := range opts {
			o(&h)
		}
		p, ok := hooks.PointOf(new(E))
		if !ok {
			a.made = hooks.Insert(a.made, h, false)
			return nil
		}
		if a.set.Hooks == nil {
			a.set.Hooks = &hooks.Set{}
		}
		a.set.Hooks.Add(p, h)
		return nil
	})
}

// HookOption is an option of [On].
type HookOption func(*hooks.Hook)

// Order places a hook before those with a higher number, at each point. The default is 0.
func Order(n int) HookOption { return func(h *hooks.Hook) { h.Order = n } }

// Parts makes one part of several: a plugin is a bundle of hooks, tools and settings.
func Parts(parts ...Part) Part {
	return partFunc(func(a *Agent) error {
		for _, p := range parts {
			if foreign.IsNil(p) {
				continue
			}
			if err := p.attach(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// Made is called once when the agent has all parts of [New] or of one [Agent.Use]. An error of the hook becomes the
// agent's error ([Agent.Err]).
type Made struct {
	// Agent is the agent: read only.
	Agent *Agent
}

// callMade calls the hooks that wait for the agent to be made, each once.
func (a *Agent) callMade() {
	for a.err == nil && len(a.made) > 0 {
		one := a.made[0]
		a.made = a.made[1:]
		a.err = one.Safely(context.Background(), &Made{Agent: a})
	}
}
