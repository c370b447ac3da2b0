package journaltest

import (
	"context"
	"slices"

	"github.com/braidrun/braid/journal"
)

func sessionMutants() []mutant {
	const (
		one     = "session/the first run since a turn begins a session, and no other"
		between = "session/a run that came in between does not take the session"
		past    = "session/what stands before the first run stands before no other"
		repeat  = "session/a repeat is known, whatever was decided"
		fifty   = "session/of fifty at once one begins the session and one has the past"
		began   = "session/a run says in which session it began"
		placed  = "session/the place is told without the log"
		epoch   = "session/the place of a conversation has the epoch of its newest lease"
	)
	asks := func(f func(ctx context.Context, b *bent, r *journal.Run)) func(b *bent) {
		return func(b *bent) {
			b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				f(ctx, b, &r)
				return b.Memory.Admit(ctx, r)
			}
		}
	}
	turns := func(ctx context.Context, b *bent, r *journal.Run) int {
		at, _ := b.Memory.Position(ctx, r.Conversation, 0)
		return at.Turns
	}
	places := func(f func(p *journal.Position)) func(b *bent) {
		return func(b *bent) {
			b.place = func(ctx context.Context, conversation string, since int) (journal.Position, error) {
				p, err := b.Memory.Position(ctx, conversation, since)
				f(&p)
				return p, err
			}
		}
	}
	return []mutant{
		{name: "each run since the turn begins a session", catcher: one, plant: asks(func(_ context.Context, _ *bent, r *journal.Run) {
			r.NewSession, r.Since = r.Since > 0, 0
		})},
		{name: "no run begins the session", catcher: one, plant: asks(func(_ context.Context, _ *bent, r *journal.Run) { r.Since = 0 })},
		{name: "the session is the very turn's", catcher: between, plant: asks(func(ctx context.Context, b *bent, r *journal.Run) {
			r.NewSession, r.Since = r.Since > 0 && turns(ctx, b, r)+1 == r.Since, 0
		})},
		{name: "the past stands before every run", catcher: past, plant: asks(func(_ context.Context, _ *bent, r *journal.Run) {
			r.Input, r.Past = slices.Concat(r.Past, r.Input), nil
		})},
		{name: "the past is forgotten", catcher: past, plant: asks(func(_ context.Context, _ *bent, r *journal.Run) { r.Past = nil })},
		{name: "a repeat must ask since the same turn", catcher: repeat, plant: asks(func(_ context.Context, _ *bent, r *journal.Run) {
			if r.Since > 1 {
				r.Since = 0
			}
		})},
		{name: "who is first is looked up before", catcher: fifty, plant: asks(func(ctx context.Context, b *bent, r *journal.Run) {
			if turns(ctx, b, r) < 2 {
				r.NewSession, r.Since = r.Since > 0, 0
			}
		})},
		{name: "a run says no session", catcher: began, plant: func(b *bent) {
			b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				row, err := b.Memory.Admit(ctx, r)
				row.Session = 0
				return row, err
			}
		}},
		{name: "the place counts what has begun", catcher: placed, plant: places(func(p *journal.Position) { p.Session = min(p.Session, 2) })},
		{name: "a place has no epoch", catcher: epoch, plant: places(func(p *journal.Position) { p.Epoch = 0 })},
		{name: "the epoch of a place is that of the next lease", catcher: epoch, plant: places(func(p *journal.Position) { p.Epoch++ })},
		{name: "the place never says that one begins", catcher: placed, plant: places(func(p *journal.Position) { p.Begun = false })},
	}
}
