package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service/directory"
)

// make makes the agent of a run.
func (s *Service) make(ctx context.Context, r *AgentRequest) (agent *braid.Agent, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("making an agent panicked", "tenant", r.Tenant, "conversation", r.Place.Conversation, "run", r.Place.Run,
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			agent, err = nil, unusable(&event.Error{Op: "agent", Kind: event.ErrInternal, Message: "making the agent failed"})
		}
	}()
	agent, err = s.options.Agent(ctx, *r)
	if err == nil {
		err = agent.Err()
	}
	if err != nil {
		return nil, unusable(err)
	}
	return agent, nil
}

// agentOf makes the agent of an accepted run. If the agent is gone, or its tenant or model is
// inactive, it returns an agent whose model fails with that error, so that the run still ends. It
// returns an error if the directory cannot be read now.
func (s *Service) agentOf(ctx context.Context, x *ExecutionContext, row *journal.Run) (*braid.Agent, error) {
	var r AgentRequest
	err := s.verify(ctx, x, func(*directory.Tenant) (string, int) { return pinnedOf(row.Metadata) })
	if err == nil {
		r, err = s.builder.Build(ctx, x)
	}
	if errors.Is(err, event.ErrUnavailable) || errors.Is(err, event.ErrCancelled) {
		return nil, err
	}
	var agent *braid.Agent
	if err == nil {
		agent, err = s.make(ctx, &r)
	}
	if err != nil {
		return braid.New(row.Agent, goneModel{err}), nil //nolint:nilerr // the run ends with it
	}
	return agent, nil
}

// goneModel replaces a model that was there when the run was accepted. It fails each call with err.
type goneModel struct{ err error }

func (goneModel) Info() model.Info { return model.Info{Name: "gone"} }

func (m goneModel) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, m.err) }
}

// unusable returns the error of an accepted run whose agent cannot be made.
func unusable(err error) error {
	if e, ok := err.(*event.Error); ok { //nolint:errorlint // an error of the caller's function is passed on unchanged
		return e
	}
	return &event.Error{Op: "run", Kind: event.ErrInternal, Message: "the agent cannot be made", Err: err}
}
