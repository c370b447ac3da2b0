package sqlite

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

var _ journal.Beginner = (*Store)(nil)

// Propose implements [journal.Beginner].
func (s *Store) Propose(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
	const op = "journal propose"
	if err := alive(ctx, op); err != nil {
		return journal.Opened{}, err
	}
	now := time.Now()
	o := journal.Opened{
		Lease: journal.Lease{Conversation: r.Conversation, Run: r.ID, Epoch: at.Epoch, Until: now.Add(s.term), Term: s.term},
		Run:   r, Last: at.Last,
	}
	o.Run.Turn, o.Run.Status, o.Run.Admitted = at.Turn, event.RunRunning, now
	o.Run.Since, o.Run.Past, o.Run.Incarnation, o.Run.Alone, o.Run.Follows = 0, nil, "", false, 0
	if !s.writer.shares.Load() {
		return o, nil
	}
	err := s.look(ctx, op, func(ask asker) (err error) {
		o.Shared, err = readState(ask(selectShared, r.Tenant, userOwner(r.User)))
		return err
	})
	return o, err
}

// Begin implements [journal.Beginner].
func (s *Store) Begin(ctx context.Context, r journal.Run, o *journal.Opened, b journal.Batch) error {
	const op = "journal begin"
	if err := alive(ctx, op); err != nil {
		return err
	}
	r.Alone = true
	a, err := newAdmission(op, r)
	if err != nil {
		return err
	}
	a.status = event.RunRunning
	if err := journal.CheckBatch(op, o.Lease, b); err != nil {
		return err
	}
	packed, err := logrow.Pack(b.Events)
	if err != nil {
		return fault(op, err)
	}
	return s.write(ctx, op, false, func(x *tx) error {
		row, p, err := s.admit(x, a)
		if err != nil {
			return err
		}
		if p == nil || p.turns != o.Run.Turn || p.last != o.Last || row.run.NewSession != r.NewSession {
			return passed(op)
		}
		begun := opening{row: row, place: *p}
		if err := s.acquire(x, op, &begun, false); err != nil {
			return err
		}
		if begun.lease.Epoch != o.Lease.Epoch {
			return passed(op)
		}
		return s.commit(x, op, o.Lease, b, packed)
	})
}
