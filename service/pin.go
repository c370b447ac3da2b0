package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// pick returns the agent that the conversation is pinned to, or else the tenant's default.
func (r *Row) pick(t *directory.Tenant) (agent string, version int) {
	if r.Agent != "" {
		return r.Agent, r.AgentVersion
	}
	return t.Agent, 0
}

// choose pins a new conversation to the named agent, or else to its tenant's default, in its
// current version. Pinning it here is written with the conversation; the first run would need one
// more commit before its first output. If the tenant's default is not usable now, the first run
// pins one.
func (s *conversations) choose(ctx context.Context, op string, row *Row, named string) error {
	d := s.options.Directory
	switch {
	case d == nil && named != "":
		return &event.Error{
			Op: op, Kind: event.ErrNotFound, Code: "AGENT_NOT_FOUND", Message: "there is no such agent",
			Hint: "leave it out: this service has one agent",
		}
	case d == nil:
		return nil
	}
	id := named
	if id == "" {
		t, err := d.Tenant(ctx, row.Tenant)
		if err != nil || t.Agent == "" {
			return nil //nolint:nilerr // the first run reports it
		}
		id = t.Agent
	}
	a, err := d.Agent(ctx, row.Tenant, id, 0)
	switch {
	case err == nil:
		row.Agent, row.AgentVersion = a.ID, a.Version
	case named != "":
		return err
	}
	return nil
}

// pin pins a conversation without an agent to the agent that answers its first run. It returns
// false if another request has pinned another agent first: row then has that one.
func (s *conversations) pin(ctx context.Context, x *ExecutionContext, row *Row) (bool, error) {
	if row.Agent != "" || x.Agent.ID == "" {
		return true, nil
	}
	pinned, err := s.change(ctx, row.Key(), func(row *Row) error {
		if row.Agent == "" {
			row.Agent, row.AgentVersion = x.Agent.ID, x.Agent.Version
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	s.changes.Add(1)
	*row = pinned
	return row.Agent == x.Agent.ID && row.AgentVersion == x.Agent.Version, nil
}

// unpinTime bounds how long undoing a refused request takes.
const unpinTime = 5 * time.Second

// unpin undoes the pin of a conversation's first request after that was refused. If a run was
// admitted meanwhile it was built with the pinned agent, and the pin stays.
func (s *conversations) unpin(ctx context.Context, x *ExecutionContext, made *Row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpinTime)
	defer cancel()
	defer s.locks.lock(made.ID)()
	none := func() bool {
		runs, err := s.options.Journal.Runs(ctx, made.ID, 0, 1)
		return err == nil && len(runs) == 0
	}
	if !none() {
		return
	}
	row, err := s.change(ctx, made.Key(), func(row *Row) error {
		if row.Agent == x.Agent.ID && row.AgentVersion == x.Agent.Version {
			row.Agent, row.AgentVersion = "", 0
		}
		return nil
	})
	if err != nil {
		return // it is pinned to its own choice
	}
	s.changes.Add(1)
	if !none() { // another process has admitted one
		_, _ = s.pin(ctx, x, &row)
	}
}
