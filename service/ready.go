package service

import (
	"context"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service/directory"
)

// moment returns the current state that the conversation's agents depend on.
func (s *conversations) moment(ctx context.Context, conversation string) (moment, error) {
	m := moment{at: time.Now(), seen: s.folds.seen(conversation)}
	if s.options.Directory == nil {
		return m, nil
	}
	var err error
	m.generation, err = s.options.Directory.Generation(ctx)
	return m, err
}

// preparedFor returns the agent that a run was accepted with if it would be the same now: the
// directory has not changed, no other run of the conversation was driven, and less time has passed
// than [directory.Stale]. Otherwise it returns nil.
func (s *Service) preparedFor(ctx context.Context, x *ExecutionContext) *braid.Agent {
	p := s.prepared.take(x.Run)
	if p == nil {
		return nil
	}
	now, err := s.moment(ctx, x.Conversation)
	if err != nil || now.generation != p.now.generation || now.seen != p.now.seen || now.at.Sub(p.now.at) >= directory.Stale {
		return nil
	}
	x.Tenant, x.Agent = p.tenant, p.of
	return p.agent
}

// ready makes the agent of a run and pins the conversation to it. first reports that the
// conversation was not pinned before.
func (s *Service) ready(ctx context.Context, x *ExecutionContext, row *Row) (ready *prepared, first bool, err error) {
	for {
		now, err := s.moment(ctx, row.ID)
		if err != nil {
			return nil, false, err
		}
		if err := s.verify(ctx, x, row.pick); err != nil {
			return nil, false, err
		}
		r, err := s.builder.Build(ctx, x)
		if err != nil {
			return nil, false, err
		}
		agent, err := s.make(ctx, &r)
		if err != nil {
			return nil, false, err
		}
		if err := accepts(agent, &x.own); err != nil {
			return nil, false, err
		}
		first := row.Agent == ""
		if pinned, err := s.pin(ctx, x, row); err != nil || pinned {
			return &prepared{agent, x.Tenant, x.Agent, now}, first && row.Agent != "", err
		}
	}
}
