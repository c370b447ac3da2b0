package service

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
)

// Service executes runs for many tenants. All methods are safe for concurrent use and return
// *[event.Error]s. Make it with [New].
type Service struct {
	conversations

	quotas *quotas
	engine *engine.Local
	// stalled has the store's error for each run here that waits because the store refuses to
	// write.
	stalled sync.Map
	// tokens are those of the runs that this process has accepted.
	tokens tokenBox
	// prepared are the agents of runs that this process has accepted and is about to drive.
	prepared preparedAgents
	// beginnings are the runs whose drives are to admit them, by id.
	beginnings sync.Map
	counts     counts
	// stops cancels the runs of inactive tenants.
	stops     stops
	builder   OptionsBuilder
	titles    *TitleGenerator
	completer *logCompleter
	// started is set by Start.
	started atomic.Bool
}

// Shared reports whether other processes serve the same journal and rows; see [Options].
func (s *Service) Shared() bool { return s.options.Shared }

// Load returns how many runs are being driven here and how many are queued.
func (s *Service) Load() (running, queued int) { return s.engine.Load() }

// TenantLoad is the load of one tenant in this process.
type TenantLoad = engine.TenantLoad

// Tenants returns the load of each tenant that has runs in this process.
func (s *Service) Tenants() map[string]TenantLoad { return s.engine.Tenants() }

// Waits returns why a run of this process makes no progress: the error of [engine.Local.Waits], or
// the error with which the journal refuses to write the run's events. It returns nil if the run
// goes on, waits for an answer or behind another run, or is not known here.
func (s *Service) Waits(run string) error {
	if err := s.engine.Waits(run); err != nil {
		return err
	}
	if err, ok := s.stalled.Load(run); ok {
		return err.(error) //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// begun returns an error before [Service.Start]. A run that nothing drives would be queued for
// ever.
func (s *Service) begun(op string) error {
	if s.started.Load() {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service is not started", Hint: "call Start on the service first",
	}
}

// Memory returns the bound on the bytes that are worked on at once. The server counts its request
// bodies in it.
func (s *Service) Memory() *Memory { return s.memory }

// Counts returns the counters.
func (s *Service) Counts() Counts {
	return Counts{
		LeasesLost: s.counts.leasesLost.Load(), LockWaits: s.counts.lockWaits.Load(), LockWaited: time.Duration(s.counts.lockWaited.Load()),
	}
}
