package engine

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Local is the [Engine] inside one process. It serves tenants by weighted round robin: however many
// runs a tenant has queued, it delays another tenant's next start by at most its weight in starts.
// Within a tenant the higher priority goes first, then the older run. Runs of one conversation go
// one after another.
//
// Its memory is bounded. Other runs stay in the journal, and a sweep finds them. It has two
// goroutines of its own (three with Shared) and one for each run that is being driven. All end with
// Drain. Make it with [NewLocal].
type Local struct {
	store   journal.Store
	drive   Drive
	options Options

	mu    sync.Mutex
	phase phase
	queue queue
	tasks map[string]*task
	talks map[talkKey]*talk
	// timers are the delayed tasks.
	timers byTime
	// left are the runs that were forgotten during the current sweep. What the sweep returns about
	// them is outdated.
	left     map[string]struct{}
	sweeping bool
	// unclaimed are the runs that were due at the last sweep and unknown here. It is used only with
	// Shared.
	unclaimed map[string]struct{}
	// pace is the average time between two starts while runs are queued.
	pace    time.Duration
	started time.Time
	// suspect is the suspect that is being driven; see isSuspect.
	suspect *task
	// suspected is when that drive began.
	suspected time.Time

	// timersChanged wakes the goroutine of the timers.
	timersChanged chan struct{}
	// sweepNow wakes the goroutine of the sweeps.
	sweepNow chan struct{}

	life life
}

// life is what starts and ends an engine's goroutines.
type life struct {
	// base is the context of drives. Start creates it and Drain cancels it, by end.
	base context.Context //nolint:containedctx // lives from Start to Drain
	end  context.CancelCauseFunc
	// own is the context of the engine's own work. Start creates it and Drain cancels it, by rest.
	own  context.Context //nolint:containedctx // the same
	rest context.CancelFunc
	// draining is closed when Drain begins, and drained when it ends.
	draining chan struct{}
	drained  chan struct{}
	// work counts the engine's own goroutines, and drives those that drive runs.
	work   sync.WaitGroup
	drives sync.WaitGroup
}

var _ Engine = (*Local)(nil)

// phase is the state of the engine.
type phase uint8

const (
	fresh phase = iota
	starting
	started
	drained
)

// NewLocal returns an engine over a store. It calls drive for each run, on a goroutine of its own.
// It starts nothing: runs that are submitted before Start wait.
func NewLocal(store journal.Store, drive Drive, options Options) *Local {
	l := &Local{
		store: store, drive: drive, options: complete(options),
		tasks: map[string]*task{}, talks: map[talkKey]*talk{},
		life:          life{draining: make(chan struct{}), drained: make(chan struct{})},
		timersChanged: make(chan struct{}, 1), sweepNow: make(chan struct{}, 1),
	}
	l.queue.most = l.options.Running
	return l
}

// Load returns how many runs are being driven here and how many are queued.
func (l *Local) Load() (running, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.running, l.queue.backlog
}

// TenantLoad is the load of one tenant in an engine.
type TenantLoad struct {
	// Running counts the runs that are being driven.
	Running int
	// Queued counts the runs that wait for their turn.
	Queued int
}

// Tenants returns the load of each tenant that has runs here.
func (l *Local) Tenants() map[string]TenantLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	loads := make(map[string]TenantLoad, len(l.queue.tenants))
	for name, t := range l.queue.tenants {
		loads[name] = TenantLoad{Running: t.running, Queued: t.backlog}
	}
	return loads
}

// Waits returns why a run of this engine is not being driven. [event.ErrBacklogFull] means that the
// engine already drives as many runs as it may; any other error is that of its last drive. It
// returns nil if the run is being driven, waits for an answer or behind another run, or is not
// known here.
func (l *Local) Waits(run string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tasks[run]
	switch {
	case t == nil:
		return nil
	case t.state == ready:
		return &event.Error{
			Op: "run", Kind: event.ErrBacklogFull, Message: "the run waits for its turn: as many runs as may be are being driven",
			Hint: "it begins by itself", RetryAfter: l.retryAfter(t.tenant),
		}
	case t.state == delayed && t.fails > 0:
		return t.failure
	default:
		return nil
	}
}

// retryAfter estimates the time until a tenth of the tenant's queue has started. An earlier retry
// would probably be refused again.
func (l *Local) retryAfter(t *tenant) time.Duration {
	starts := 1 + t.backlog/10*max(1, len(l.queue.turn))/t.share.Weight
	after := time.Duration(starts) * l.pace
	return min(max(after.Round(time.Second), time.Second), time.Minute)
}

// know makes a task of a row. It is not queued yet.
func (l *Local) know(row journal.Run) *task {
	row.Input = nil // acquiring the run returns it; keeping it for the whole backlog would take much memory
	t := &task{run: row, tenant: l.queue.tenant(row.Tenant, l.options.share), priority: l.options.priority(row)}
	t.tenant.tasks++
	l.tasks[row.ID] = t
	k := l.talks[t.talkKey()]
	if k == nil {
		k = &talk{}
		l.talks[t.talkKey()] = k
	}
	k.add(t)
	return t
}

// enqueue queues a task: ready if it is the next of its conversation, else blocked.
func (l *Local) enqueue(t *task) {
	l.queue.set(t, blocked)
	l.queue.settle(l.talks[t.talkKey()])
}

// forget removes an idle task.
func (l *Local) forget(t *task) {
	delete(l.tasks, t.run.ID)
	k := l.talks[t.talkKey()]
	k.remove(t)
	if len(k.tasks) == 0 {
		delete(l.talks, t.talkKey())
	}
	t.tenant.tasks--
	l.queue.tidy(t.tenant)
	if l.sweeping {
		l.left[t.run.ID] = struct{}{}
	}
}

func closing(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service is about to stop",
		Hint: "try again in a moment", RetryAfter: time.Second,
	}
}
