package service

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service/directory"
)

// prepared is the agent of a run as it was when the run was accepted. The drive that follows at once uses it, so that
// a request's agent is verified and built once.
type prepared struct {
	agent *braid.Agent
	// tenant and of are what was verified.
	tenant directory.Tenant
	of     directory.Agent
	now    moment
}

// moment is what an agent may depend on beside the request.
type moment struct {
	at time.Time
	// generation is the directory's.
	generation int64
	// seen is the last event of the conversation that was driven here: a run may have left files.
	seen int64
}

// mostPrepared bounds how many agents are kept for runs that wait for their turn; others are built anew.
const mostPrepared = 1000

// preparedAgents are those of runs that were accepted here and not yet driven. The zero value is ready for use.
type preparedAgents struct {
	mu   sync.Mutex
	runs map[string]*prepared
}

func (a *preparedAgents) put(run string, p *prepared) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs == nil {
		a.runs = make(map[string]*prepared)
	}
	if len(a.runs) >= mostPrepared {
		for id, old := range a.runs {
			if p.now.at.Sub(old.now.at) >= directory.Stale {
				delete(a.runs, id)
			}
		}
	}
	if len(a.runs) < mostPrepared {
		a.runs[run] = p
	}
}

// take gives a run's agent away; nil if there is none.
func (a *preparedAgents) take(run string) *prepared {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.runs[run]
	delete(a.runs, run)
	return p
}

// moment returns what agents of a conversation depend on now.
func (s *Service) moment(ctx context.Context, conversation string) (moment, error) {
	m := moment{at: time.Now(), seen: s.warm.seen(conversation)}
	if s.options.Directory == nil {
		return m, nil
	}
	var err error
	m.generation, err = s.options.Directory.Generation(ctx)
	return m, err
}

// preparedFor returns the agent that a run was accepted with, if it would be the same now: nobody has changed the
// directory, no other run of the conversation was driven, and not more time is over than after which the directory
// asks its database again. Otherwise it returns nil.
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
