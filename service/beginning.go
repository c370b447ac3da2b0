package service

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// beginning is a run that its drive admits.
type beginning struct {
	store  journal.Beginner
	run    journal.Run
	opened journal.Opened
	// begun is closed when the run is in the journal, and over when its drive has ended.
	begun, over chan struct{}

	mu    sync.Mutex
	state beginningState
}

// beginningState is the state of a beginning.
type beginningState uint8

const (
	// proposed: its drive has not committed yet.
	proposed beginningState = iota
	// committing: the journal executes the first commit.
	committing
	// admitted: the run is in the journal.
	admitted
	// refused: the run is not in the journal, and its drive will not admit it.
	refused
)

func (b *beginning) isAdmitted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == admitted
}

// refuse prevents the run from being admitted. It returns false if that is too late.
func (b *beginning) refuse() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == proposed {
		b.state = refused
	}
	return b.state == refused
}

// end is called when the drive has ended.
func (b *beginning) end() {
	if b == nil {
		return
	}
	b.refuse()
	close(b.over)
}

// commit admits the run with the batch.
func (b *beginning) commit(ctx context.Context, batch journal.Batch) error {
	if len(batch.Events) == 0 { // the drive gives the run up
		b.refuse()
	}
	b.mu.Lock()
	if b.state != proposed {
		b.mu.Unlock()
		return notBegun(nil)
	}
	b.state = committing
	b.mu.Unlock()
	err := b.store.Begin(ctx, b.run, &b.opened, batch)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.state = refused
		return notBegun(err)
	}
	b.state = admitted
	close(b.begun)
	return nil
}

// notBegun ends the drive of a run that could not be admitted. The drive does not try again.
func notBegun(err error) error {
	return &event.Error{Op: "begin", Kind: event.ErrLeaseLost, Message: "the run was not begun", Err: err}
}

// foldStore is the journal of one conversation's drives. It lets a drive begin a run that is not in
// the journal yet.
type foldStore struct {
	journal.Store

	// beginning is the run that the current drive admits; nil if there is none.
	beginning atomic.Pointer[beginning]
}

var _ journal.Store = (*foldStore)(nil)

// of returns the beginning of a run; nil if the run is in the journal.
func (f *foldStore) of(run string) *beginning {
	if b := f.beginning.Load(); b != nil && b.run.ID == run {
		return b
	}
	return nil
}

// Acquire implements [journal.Store].
func (f *foldStore) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	if b := f.of(run); b != nil {
		if have < b.opened.Last {
			return journal.Opened{}, notBegun(nil) // the fold was dropped meanwhile
		}
		return b.opened, nil
	}
	return f.Store.Acquire(ctx, run, have)
}

// Commit implements [journal.Store].
func (f *foldStore) Commit(ctx context.Context, l journal.Lease, batch journal.Batch) error {
	if b := f.of(l.Run); b != nil {
		err := b.commit(ctx, batch)
		if err == nil {
			f.beginning.Store(nil)
		}
		return err
	}
	return f.Store.Commit(ctx, l, batch)
}

// Tail implements [journal.Store].
func (f *foldStore) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	if b := f.beginning.Load(); b != nil && b.opened.Last == 0 && b.run.Conversation == conversation {
		return journal.Tail{First: 1, Session: 1}, nil // its first commit checks that the log is empty
	}
	return f.Store.Tail(ctx, conversation)
}

// Renew implements [journal.Store].
func (f *foldStore) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if f.of(l.Run) != nil {
		return journal.News{}, nil // the lease begins with the first commit
	}
	return f.Store.Renew(ctx, l)
}
