package service

import (
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service/directory"
)

// prepared is the agent of a run as it was built when the run was accepted. The drive that follows
// at once uses it, so that a request's agent is verified and built only once.
type prepared struct {
	agent *braid.Agent
	// tenant is the tenant that was verified.
	tenant directory.Tenant
	// of is the directory's agent that was verified.
	of  directory.Agent
	now moment
}

// moment is the state that an agent depends on beside the request.
type moment struct {
	at time.Time
	// generation is the directory's generation.
	generation int64
	// seen is the Seq of the conversation's last event here. A run may have left files.
	seen int64
}

// mostPrepared bounds how many agents are kept for queued runs. Others are built again.
const mostPrepared = 1000

// preparedAgents holds the agents of runs that were accepted here and not yet driven. The zero
// value is ready for use.
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

// take removes a run's agent and returns it; nil if there is none.
func (a *preparedAgents) take(run string) *prepared {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.runs[run]
	delete(a.runs, run)
	return p
}
