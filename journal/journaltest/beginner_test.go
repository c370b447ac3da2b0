package journaltest

import (
	"context"
	"slices"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// beginner is a memory store that is a [journal.Beginner]. It is atomic for the sequential calls of the cases: Begin checks
// everything before it writes.
type beginner struct {
	*journal.Memory
	mu   sync.Mutex // held by Propose and Begin
	bugs beginBugs
}

var _ journal.Beginner = (*beginner)(nil)

// beginBugs are planted bugs of a beginner.
type beginBugs struct {
	// propose replaces Propose.
	propose func(context.Context, journal.Run, journal.Place) (journal.Opened, error)
	// found changes what Begin finds before it checks. The place is the proposal's.
	found func(f *found, at journal.Place)
	// write replaces what Begin does after its checks.
	write func(context.Context, journal.Run, *journal.Opened, journal.Batch) error
}

// found is what the store has when a run begins.
type found struct {
	// at is where the run would begin.
	at journal.Place
	// foreign is a conversation of another tenant.
	foreign bool
	// sameID and sameKey are an earlier run's.
	sameID, sameKey bool
	// open is a run that has not ended.
	open bool
	// batch is why the batch does not fit.
	batch error
}

func (s *beginner) Propose(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bugs.propose != nil {
		return s.bugs.propose(ctx, r, at)
	}
	return s.propose(ctx, r, at)
}

// propose reads the shared state with a run of its own, in a conversation that it removes.
func (s *beginner) propose(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
	const id = "a proposal"
	if _, err := s.Admit(ctx, journal.Run{ID: id, Conversation: id, Tenant: r.Tenant, User: r.User}); err != nil {
		return journal.Opened{}, err
	}
	o, err := s.Acquire(ctx, id, 0)
	if err != nil {
		return o, err
	}
	end := (&pen{lease: o.Lease}).ending(event.RunCancelled)
	if err := s.Commit(ctx, o.Lease, end); err != nil {
		return o, err
	}
	if err := s.Remove(ctx, r.Tenant, id); err != nil {
		return o, err
	}
	o.Lease.Conversation, o.Lease.Run, o.Lease.Epoch = r.Conversation, r.ID, at.Epoch
	r.Turn, r.Status, r.Admitted = at.Turn, event.RunRunning, o.Run.Admitted
	o.Run, o.Last = r, at.Last
	return o, nil
}

func (s *beginner) Begin(ctx context.Context, r journal.Run, o *journal.Opened, b journal.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.find(ctx, r, o, b)
	if err != nil {
		return err
	}
	at := journal.Place{Turn: o.Run.Turn, Last: o.Last, Epoch: o.Lease.Epoch}
	if s.bugs.found != nil {
		s.bugs.found(&f, at)
	}
	switch {
	case f.foreign:
		return &event.Error{Kind: event.ErrNotFound, Message: "there is no such conversation"}
	case f.sameID, f.sameKey:
		return &event.Error{Kind: event.ErrConflict, Message: "the run exists"}
	case f.open:
		return &event.Error{Kind: event.ErrLocked, Message: "another run has not ended"}
	case f.at != at:
		return &event.Error{Kind: event.ErrConflict, Message: "the conversation has gone on"}
	case f.batch != nil:
		return f.batch
	case s.bugs.write != nil:
		return s.bugs.write(ctx, r, o, b)
	}
	return s.write(ctx, r, o, b)
}

func (s *beginner) find(ctx context.Context, r journal.Run, o *journal.Opened, b journal.Batch) (found, error) {
	runs, err := s.Runs(ctx, r.Conversation, 0, 0)
	if err != nil {
		return found{}, err
	}
	events, err := s.Read(ctx, r.Conversation, 0, 0)
	if err != nil {
		return found{}, err
	}
	position, err := s.Position(ctx, r.Conversation, 0)
	f := found{
		at:      journal.Place{Turn: len(runs) + 1, Last: int64(len(events)), Epoch: position.Epoch + 1},
		foreign: len(runs) > 0 && runs[0].Tenant != r.Tenant,
		sameID:  slices.ContainsFunc(runs, func(k journal.Run) bool { return k.ID == r.ID }),
		sameKey: slices.ContainsFunc(runs, func(k journal.Run) bool { return r.Key != "" && k.Key == r.Key }),
		open:    slices.ContainsFunc(runs, func(k journal.Run) bool { return !k.Status.Ended() }),
		batch:   journal.CheckBatch("begin", o.Lease, b),
	}
	if f.batch == nil {
		_, f.batch = journal.FollowSteps("begin", nil, b.Events)
	}
	return f, err
}

func (s *beginner) write(ctx context.Context, r journal.Run, o *journal.Opened, b journal.Batch) error {
	if _, err := s.Admit(ctx, r); err != nil {
		return err
	}
	if _, err := s.Acquire(ctx, r.ID, 0); err != nil {
		return err
	}
	return s.Commit(ctx, o.Lease, b)
}
