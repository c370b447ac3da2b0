// Package sched lets a simulation choose the order of concurrent steps. Without a
// gate in the context nothing waits.
package sched

import "context"

// Gate blocks a goroutine until the simulation lets it continue.
type Gate interface {
	// Pass blocks until the step named what may happen. It is safe for concurrent use.
	Pass(what string)
}

type key struct{}

// With returns a context whose drivers pass g.
func With(ctx context.Context, g Gate) context.Context { return context.WithValue(ctx, key{}, g) }

// From returns the context's gate, nil if there is none.
func From(ctx context.Context) Gate {
	g, _ := ctx.Value(key{}).(Gate)
	return g
}
