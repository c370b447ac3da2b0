// Package gate lets a simulation decide the order of what happens at the same
// time. Without a gate in the context nothing waits.
package gate

import "context"

// Gate holds who passes until it is that one's turn.
type Gate interface {
	// Pass comes back when what may happen. It is called from any goroutine.
	Pass(what string)
}

type key struct{}

// With gives a context whose drivers pass g.
func With(ctx context.Context, g Gate) context.Context { return context.WithValue(ctx, key{}, g) }

// From gives the context's gate; nil means that there is none.
func From(ctx context.Context) Gate {
	g, _ := ctx.Value(key{}).(Gate)
	return g
}
