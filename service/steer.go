package service

import (
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
)

// entering is a journal that admits a run with the id and history that the service gave it.
type entering struct {
	journal.Store
	run *journal.Run
}

var _ journal.Store = entering{}

// Start implements [journal.Store].
func (e entering) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	return journal.AdmitAndAcquire(ctx, e, r, have)
}

// Admit implements [journal.Store].
func (e entering) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	r.ID, r.Since, r.Past, r.Incarnation = e.run.ID, e.run.Since, e.run.Past, e.run.Incarnation
	return e.Store.Admit(ctx, r)
}

// steer adds the input to the open run, or admits a run if none is open.
func (s *Service) steer(ctx context.Context, agent *braid.Agent, run journal.Run) (Started, error) {
	conv := braid.Open(joining{entering{s.options.Journal, &run}}, run.Conversation)
	opts := []braid.SendOption{
		braid.History(run.Input...), braid.During(braid.Steer), braid.Key(run.Key), braid.For(run.Tenant, run.User), braid.Executor(run.Executor),
		braid.Metadata(run.Metadata),
	}
	sent, err := agent.Send(ctx, conv, "", opts...)
	if err != nil {
		return Started{}, err
	}
	if sent.Joined {
		row := journal.Run{ID: sent.Run, Conversation: run.Conversation, Tenant: run.Tenant, Turn: sent.Turn, Status: sent.Status}
		return Started{Run: row, Joined: true}, s.engine.Wake(ctx, row)
	}
	// It is admitted. If the engine misses this, its sweep finds the run.
	run.ID = sent.Run
	row, err := s.engine.Submit(ctx, run)
	return Started{Run: row}, err
}
