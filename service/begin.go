package service

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// A run that need not wait is driven before it is in the journal: its drive admits it with its
// first commit, so that beginning it waits for the disk once. The request waits for that commit.
// Whatever goes wrong before it leaves nothing behind, and the request then submits the run.

// beginRun drives the run at once and waits until it is in the journal. ok is false if it is not and
// must be submitted.
func (s *Service) beginRun(ctx context.Context, e *admission, run journal.Run) (row journal.Run, ok bool) {
	store, can := s.options.Journal.(journal.Beginner)
	if !can || !e.atOnce || run.Since != 0 || len(run.Past) > 0 || run.Follows != 0 {
		return journal.Run{}, false
	}
	at, known := s.folds.place(run.Conversation, run.Incarnation)
	if !known {
		if e.after != 0 {
			return journal.Run{}, false // its log must be read first
		}
		at = journal.Place{Turn: 1, Epoch: 1}
	}
	opened, err := store.Propose(ctx, run, at)
	if err != nil {
		return journal.Run{}, false
	}
	b := &beginning{store: store, run: run, opened: opened, begun: make(chan struct{}), over: make(chan struct{})}
	s.beginnings.Store(run.ID, b)
	if !s.engine.Begin(opened.Run, b.isAdmitted) {
		s.beginnings.Delete(run.ID)
		return journal.Run{}, false
	}
	select {
	case <-b.begun:
	case <-b.over:
	case <-ctx.Done():
		if !b.refuse() { // the commit has begun
			select {
			case <-b.begun:
			case <-b.over:
			}
		}
	}
	if b.isAdmitted() {
		return opened.Run, true
	}
	s.prepared.put(run.ID, e.ready) // the drive took it
	return journal.Run{}, false
}

// beginningOf returns the beginning of a run; nil if it was submitted.
func (s *Service) beginningOf(run string) *beginning {
	b, ok := s.beginnings.LoadAndDelete(run)
	if !ok {
		return nil
	}
	return b.(*beginning) //nolint:forcetypeassert // nothing else is in it
}
