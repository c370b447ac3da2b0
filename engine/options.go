package engine

import (
	"log/slog"
	"time"

	"github.com/braidrun/braid/journal"
)

// Options are the settings of a [Local]; the zero value is right for most.
type Options struct {
	// Running is how many runs are driven at once in all; 0 or less means
	// [DefaultRunning].
	Running int
	// Backlog is how many runs may be queued in all; 0 or less means
	// [DefaultBacklog].
	Backlog int
	// Share says what a tenant may have; nil, and zero fields of what it gives,
	// mean the defaults. It is asked when a tenant comes that has no run here,
	// with the engine locked: it must be quick and must not call the engine.
	Share func(tenant string) Share
	// Priority says how urgent a run is among its tenant's: higher goes first,
	// always. nil means all alike. It sees the row without its input, must be
	// quick, and should give the same after a restart, so it reads Metadata and
	// the like.
	Priority func(run journal.Run) int
	// Sweep is how often the journal is asked what is due, beside what the engine
	// knows by itself; 0 or less means [DefaultSweep]. It is asked less often
	// where asking takes long.
	Sweep time.Duration
	// Shared says that engines of other processes drive the runs of the same journal. Then
	// a run that is due and not known here is left to the others for one sweep before it is
	// taken, what another process drives is let go of, and mail and cancellations that came
	// in elsewhere reach the runs that are driven here. Sweep is then
	// [DefaultSharedSweep] where it is not set.
	Shared bool
	// Grace is how long drives may take to hand their runs back when the
	// engine drains; 0 means [DefaultGrace], less means not at all.
	Grace time.Duration
	// Retry is how long to wait after a drive that failed for the first time; the
	// wait doubles each time up to RetryMost. 0 or less means [DefaultRetry] and
	// [DefaultRetryMost].
	Retry     time.Duration
	RetryMost time.Duration
	// Log gets what nobody is told otherwise: drives that failed, sweeps that
	// failed. nil means nobody.
	Log *slog.Logger
}

// Share is what a tenant may have.
type Share struct {
	// Weight is how many of its runs are started in its turn, before the next
	// tenant has its own; 0 or less means 1.
	Weight int
	// Running is how many of its runs are driven at once; 0 or less means
	// [DefaultTenantRunning].
	Running int
	// Backlog is how many of its runs may be queued; 0 or less means
	// [DefaultTenantBacklog].
	Backlog int
}

// What an engine does where nothing else was said. A run mostly waits for its
// model, so many of them go on one machine.
const (
	DefaultRunning       = 2048
	DefaultTenantRunning = 1024
	DefaultBacklog       = 50_000
	DefaultTenantBacklog = 10_000
	DefaultSweep         = 2 * time.Second
	DefaultSharedSweep   = 700 * time.Millisecond
	DefaultGrace         = 20 * time.Second
	DefaultRetry         = time.Second
	DefaultRetryMost     = time.Minute
)

// complete fills in the defaults.
func complete(o Options) Options {
	orElse(&o.Running, DefaultRunning)
	orElse(&o.Backlog, DefaultBacklog)
	if o.Shared {
		orElse(&o.Sweep, DefaultSharedSweep)
	}
	orElse(&o.Sweep, DefaultSweep)
	orElse(&o.Retry, DefaultRetry)
	orElse(&o.RetryMost, DefaultRetryMost)
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o *Options) share(tenant string) Share {
	var s Share
	if o.Share != nil {
		s = o.Share(tenant)
	}
	orElse(&s.Weight, 1)
	orElse(&s.Running, DefaultTenantRunning)
	orElse(&s.Backlog, DefaultTenantBacklog)
	return s
}

func (o *Options) priority(run journal.Run) int {
	if o.Priority == nil {
		return 0
	}
	return o.Priority(run)
}

func orElse[N int | time.Duration](n *N, other N) {
	if *n <= 0 {
		*n = other
	}
}
