package engine

import (
	"log/slog"
	"time"

	"github.com/braidrun/braid/journal"
)

// Options configure a [Local]. The zero value has good defaults.
type Options struct {
	// Running bounds how many runs are driven at once in total. 0 or less means [DefaultRunning].
	Running int
	// Backlog bounds how many runs may be queued in total. 0 or less means [DefaultBacklog].
	Backlog int
	// Share returns the share of a tenant. nil, and zero fields of its result, mean the defaults.
	// It is called when a tenant gets its first run here, with the engine locked: it must be quick
	// and must not call the engine.
	Share func(tenant string) Share
	// Priority returns the priority of a run among its tenant's runs. Higher always goes first. nil
	// means that all are equal. It gets the row without its input, must be quick, and should return
	// the same after a restart.
	Priority func(run journal.Run) int
	// Sweep is how often the engine asks the journal for due runs. 0 or less means [DefaultSweep].
	// It asks less often if the journal is slow.
	Sweep time.Duration
	// Shared says that engines of other processes drive runs of the same journal. Then a due run
	// that is unknown here is left to the others for one sweep. A run that another process drives
	// is forgotten. Mail and cancellations that came in elsewhere reach the runs that are driven
	// here. The default of Sweep is then [DefaultSharedSweep].
	Shared bool
	// Grace is how long drives may take to release their runs on a drain. 0 means [DefaultGrace].
	// Negative means no time.
	Grace time.Duration
	// Retry is how long to wait after the first failed drive. The wait doubles with each failure. 0 or less means
	// [DefaultRetry].
	Retry time.Duration
	// RetryMost bounds the wait. 0 or less means [DefaultRetryMost].
	RetryMost time.Duration
	// Log receives the errors of drives and sweeps. nil discards them.
	Log *slog.Logger
}

// Share is what a tenant may use.
type Share struct {
	// Weight is how many of its runs start in its turn, before the next tenant's turn. 0 or less
	// means 1.
	Weight int
	// Running bounds how many of its runs are driven at once. 0 or less means
	// [DefaultTenantRunning].
	Running int
	// Backlog bounds how many of its runs may be queued. 0 or less means [DefaultTenantBacklog].
	Backlog int
}

// These are the defaults of [Options] and [Share]. A run mostly waits for its model, so one machine
// can drive many.
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

// complete sets the defaults.
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
