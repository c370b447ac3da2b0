package journaltest

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func contextCases() []testCase {
	// Each call would succeed and change something if ctx were not done.
	without := func(kind event.ErrorKind, done func(context.Context) (context.Context, context.CancelFunc)) func(p *probe) {
		return func(p *probe) {
			w := p.start()
			ctx, cancel := done(p.ctx)
			defer cancel()
			s := p.Store

			_, err := s.Admit(ctx, journal.Run{ID: next, Conversation: other})
			p.refused("Admit", err, kind)
			p.refused("Post", s.Post(ctx, letter("a", first)), kind)
			p.refused("Commit", s.Commit(ctx, w.lease, w.ending(event.RunCompleted)), kind)
			_, err = s.Renew(ctx, w.lease)
			p.refused("Renew", err, kind)
			_, err = s.Read(ctx, talk, 0, 0)
			p.refused("Read", err, kind)
			_, err = s.Due(ctx, 0)
			p.refused("Due", err, kind)
			w.release()
			_, err = s.Acquire(ctx, first, 0)
			p.refused("Acquire", err, kind)

			p.wantDue(first)
			v := p.take(first)
			equal(p, "mail", mailIDs(v.opened.Mail), nil)
			equal(p, "last seq", v.opened.Last, int64(0))
			_, err = s.Acquire(p.ctx, next, 0)
			p.refused("Acquire of the run that was not admitted", err, event.ErrNotFound)
		}
	}
	return []testCase{
		{"a cancelled context changes nothing", without(event.ErrCancelled,
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			})},
		{"a context past its deadline changes nothing", without(event.ErrTimeout,
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithDeadline(ctx, time.Unix(0, 0))
			})},
	}
}
