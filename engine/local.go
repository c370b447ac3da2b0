package engine

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Local is the [Engine] inside one process. Between tenants it is weighted round
// robin: one with any number of queued runs delays another's start by at most
// its weight in starts, within capacity. Inside a tenant the higher priority goes
// first, then the older run. Runs of one conversation go one after another.
//
// It keeps no more than its bounds say: what does not fit stays in the journal
// and is found by a sweep. Two goroutines are its own (three where it shares its journal),
// and one for each run that is being driven; all end with Drain. Make it with [NewLocal].
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
	// left are the runs that were let go of while a sweep was asking: what it
	// is told of them is old.
	left     map[string]struct{}
	sweeping bool
	// lying are the runs that were due when the journal was asked last and that nobody here
	// knows; only where others share it.
	lying map[string]struct{}
	// pace is about how long it takes from one start to the next while runs queue.
	pace    time.Duration
	started time.Time
	// suspect is the run that is driven alone of those that have lost drivers, since suspected; see suspected.
	suspect   *task
	suspected time.Time

	// base is what runs are driven with, own what the engine itself works with:
	// begun by Start, ended by Drain.
	base     context.Context //nolint:containedctx // lives from Start to Drain
	end      context.CancelCauseFunc
	own      context.Context //nolint:containedctx // the same
	rest     context.CancelFunc
	draining chan struct{}
	// alarm and broom wake the two goroutines.
	alarm, broom chan struct{}
	work         sync.WaitGroup
	drives       sync.WaitGroup
	drained      chan struct{}
}

var _ Engine = (*Local)(nil)

// phase is how far the engine's life has come.
type phase uint8

const (
	fresh phase = iota
	starting
	started
	drained
)

// NewLocal makes an engine over a store. drive is called for each run, on a
// goroutine of its own. It starts nothing; what is submitted before Start waits.
func NewLocal(store journal.Store, drive Drive, options Options) *Local {
	l := &Local{
		store: store, drive: drive, options: complete(options),
		tasks: map[string]*task{}, talks: map[talkKey]*talk{},
		draining: make(chan struct{}), drained: make(chan struct{}),
		alarm: make(chan struct{}, 1), broom: make(chan struct{}, 1),
	}
	l.queue.most = l.options.Running
	return l
}

// Start implements [Engine].
func (l *Local) Start(ctx context.Context) error {
	l.mu.Lock()
	if l.phase != fresh {
		l.mu.Unlock()
		return &event.Error{
			Op: "start engine", Kind: event.ErrConflict, Message: "the engine was started before",
			Hint: "start each engine once; make another one after a drain",
		}
	}
	l.phase = starting
	l.mu.Unlock()

	took, err := l.sweep(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.phase == drained:
		return closing("start engine")
	case err != nil:
		l.phase = fresh
		return err
	}
	l.phase = started
	l.base, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	l.own, l.rest = context.WithCancel(l.base)
	l.work.Go(l.keepTime)
	l.work.Go(func() { l.keepSweeping(took) })
	if l.options.Shared {
		l.work.Go(l.keepListening)
	}
	l.dispatch()
	return nil
}

// Submit implements [Engine].
func (l *Local) Submit(ctx context.Context, run journal.Run) (journal.Run, error) {
	tenant, err := l.promise(run.Tenant)
	if err != nil {
		return journal.Run{}, err
	}
	row, err := l.store.Admit(ctx, run)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.backlog--
	tenant.backlog--
	if err == nil && row.Status == event.RunQueued && l.tasks[row.ID] == nil {
		l.enqueue(l.know(row))
	}
	l.queue.tidy(tenant)
	l.dispatch()
	return row, err
}

// Wake implements [Engine]. It never fails.
func (l *Local) Wake(_ context.Context, run journal.Run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse(run, false)
	return nil
}

// Cancel implements [Engine].
func (l *Local) Cancel(ctx context.Context, run journal.Run, by string) error {
	err := l.store.Post(ctx, journal.Mail{ID: "cancel-" + run.ID, Run: run.ID, Kind: journal.MailCancel, By: by})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tasks[run.ID]; t != nil && t.state == running {
		t.cancel(&event.Error{Op: "run", Kind: event.ErrCancelled, Message: "somebody asked for the run to be cancelled"})
	}
	l.rouse(run, true)
	return nil
}

// Load says how many runs are being driven here, and how many are queued behind them.
func (l *Local) Load() (running, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.running, l.queue.backlog
}

// TenantLoad is what one tenant has in an engine.
type TenantLoad struct {
	// Running counts the runs that are being driven, Queued those that wait for their turn.
	Running, Queued int
}

// Tenants says how much each tenant has here that has runs here.
func (l *Local) Tenants() map[string]TenantLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	loads := make(map[string]TenantLoad, len(l.queue.tenants))
	for name, t := range l.queue.tenants {
		loads[name] = TenantLoad{Running: t.running, Queued: t.backlog}
	}
	return loads
}

// Waits says why a run that this engine knows is not being driven now. An error of kind [event.ErrBacklogFull] means
// that as many runs as may be are driven already, any other one is why its last drive failed. nil means that it is being driven, waits for
// a person or behind another run, or is not known here.
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

// promise keeps a place in the backlog while a run is admitted.
func (l *Local) promise(name string) (*tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == drained {
		return nil, closing("submit")
	}
	t := l.queue.tenant(name, l.options.share)
	full := ""
	switch {
	case t.backlog >= t.share.Backlog:
		full = "too many of your runs are waiting to be started"
	case l.queue.backlog >= l.options.Backlog:
		full = "too many runs are waiting to be started"
	}
	if full != "" {
		after := l.retryAfter(t)
		l.queue.tidy(t)
		return nil, &event.Error{
			Op: "submit", Kind: event.ErrBacklogFull, Message: full,
			Hint: "try again in " + after.String(), RetryAfter: after,
		}
	}
	t.backlog++
	l.queue.backlog++
	return t, nil
}

// retryAfter is about how long it takes until a tenth of what the tenant has
// queued is started: earlier than that most would be refused again.
func (l *Local) retryAfter(t *tenant) time.Duration {
	starts := 1 + t.backlog/10*max(1, len(l.queue.turn))/t.share.Weight
	after := time.Duration(starts) * l.pace
	return min(max(after.Round(time.Second), time.Second), time.Minute)
}

// know makes a task of a row. It is nowhere yet.
func (l *Local) know(row journal.Run) *task {
	row.Input = nil // acquiring the run gives it; a backlog of them would be large
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

// enqueue makes a task ready if it is its turn, and has it wait for that if not.
func (l *Local) enqueue(t *task) {
	l.queue.set(t, blocked)
	l.queue.settle(l.talks[t.talkKey()])
}

// forget lets go of a task that is idle.
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

// rouse drives a run soon for which there is mail.
func (l *Local) rouse(run journal.Run, urgent bool) {
	if l.phase == drained || run.ID == "" || run.Conversation == "" {
		return
	}
	t := l.tasks[run.ID]
	if t != nil && !urgent {
		t.roused = true
	}
	switch {
	case t == nil && l.queue.ready >= l.options.Backlog:
		l.wantSweep() // there is no room now, and the journal knows
		return
	case t == nil:
		t = l.know(run)
		t.urgent, t.roused = urgent, !urgent
		l.enqueue(t)
	case t.state == running:
		select {
		case t.mail <- struct{}{}:
		default:
		}
	case t.state == delayed:
		if t.fails > 0 && !urgent {
			return // what failed is not hurried by mail
		}
		t.urgent = t.urgent || urgent
		l.undelay(t)
		l.enqueue(t)
	case urgent:
		l.queue.raise(t)
	}
	l.dispatch()
}

func closing(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service is about to stop",
		Hint: "try again in a moment", RetryAfter: time.Second,
	}
}
