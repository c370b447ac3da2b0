package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sched"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// process is a simulated process: its own engine, hub and agents on a journal that other
// processes may share.
type process struct {
	w    *world
	name string
	// base is the journal itself, and store the process's view of it through the seams.
	base   journal.Journal
	store  journal.Store
	hub    *live.Hub
	bus    *bus
	engine *engine.Local

	// The gate guards state.
	state state
	// gone is closed when clients lose their connections, and buried when all calls that wait in
	// a dead process must return errors.
	gone   chan struct{}
	buried chan struct{}
	calls  atomic.Int64
	// limit is the number of calls of seams after which the process crashes; 0 is never.
	limit int64
}

type state uint8

const (
	alive state = iota
	paused
	dead
)

// Durations. Terms are as short as the promises allow, so that a fault fits between two of them.
const (
	term      = 10 * time.Second
	delayed   = 13 * time.Second
	pausedFor = 14 * time.Second
	// pausedJust ends when the next process looks for due runs.
	pausedJust = term + restart
	restart    = 300 * time.Millisecond
	behind     = 50 * time.Millisecond
	// grace is longer than any step of a scenario.
	grace = 10 * time.Second
)

// unread is the number of unread events at which the hub cuts off a watcher. It is small enough
// that some are cut off.
const unread = 3

// whoKey is the context key of the caller's name.
type whoKey struct{}

func as(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

func who(ctx context.Context) string {
	name, _ := ctx.Value(whoKey{}).(string)
	return name
}

// processKey is the context key of the driving process.
type processKey struct{}

func processOf(ctx context.Context) *process { return ctx.Value(processKey{}).(*process) }

// boot starts a process on a journal. Clients reach it once its engine has started.
func (w *world) boot(base journal.Journal) {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return
	}
	p := &process{
		w: w, name: fmt.Sprintf("p%d", len(w.procs)+1), base: base, hub: live.NewHub(live.HubOptions{Events: unread}),
		gone: make(chan struct{}), buried: make(chan struct{}),
	}
	w.procs = append(w.procs, p)
	w.mu.Unlock()
	p.limit = w.scenario.crashAfter(w, len(w.procs))
	p.store = newStore(p, base)
	p.bus = &bus{p: p}
	p.engine = engine.NewLocal(p.store, p.drive, engine.Options{Grace: grace})
	w.spawn(func() {
		for {
			err := p.engine.Start(as(context.Background(), "start"))
			if err == nil {
				break
			}
			if p.over() {
				return
			}
			lapse(200 * time.Millisecond)
		}
		w.reachable(p)
	})
}

// drive drives a run for the engine, as a program does.
func (p *process) drive(ctx context.Context, work engine.Work) (engine.Outcome, error) {
	name := "drive " + p.w.alias(work.Run.ID)
	ctx = context.WithValue(sched.With(as(ctx, name), arrivals{p, name}), processKey{}, p)
	row := work.Run
	pub := p.bus.publisher(name, live.Key{Tenant: row.Tenant, Conversation: row.Conversation})
	defer pub.Close()
	r, err := p.w.scenario.agent.Drive(ctx, braid.Open(p.store, row.Conversation), row.ID, braid.Work{
		Sink: pub.Publish, Mail: work.Mail, Draining: work.Draining,
	})
	if err != nil {
		p.w.drove(p, row.ID, err)
		return engine.Outcome{}, err
	}
	return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
}

// arrivals passes the driver's arrivals through the gate.
type arrivals struct {
	p    *process
	name string
}

// Pass implements [sched.Gate].
func (a arrivals) Pass(what string) {
	_, _ = call(a.p, Arrive, a.name+" "+what, func() (struct{}, error) { return struct{}{}, nil })
}

// serve executes a client's request in the process. It returns false if the connection was lost
// first: then the outcome is unknown.
func (p *process) serve(name string, f func(ctx context.Context) error) (bool, error) {
	done := make(chan error, 1)
	p.w.spawn(func() { done <- f(as(context.Background(), name)) })
	select {
	case err := <-done:
		return true, err
	case <-p.gone:
		return false, nil
	}
}

// enter waits for the turn of a call of a seam and returns the fault that strikes there. It
// returns false if the process is dead.
func (p *process) enter(s Seam, who string) (Fault, bool) {
	if !p.w.gate.pass(p, p.name+" "+string(s)+" "+who, 0) {
		return "", false
	}
	if p.limit > 0 && p.calls.Add(1) == p.limit {
		p.crash()
		p.again(s, who)
		return "", false
	}
	return p.w.strike(s), true
}

// call executes one call of a seam with its fault.
func call[T any](p *process, s Seam, who string, do func() (T, error)) (T, error) {
	var none T
	f, ok := p.enter(s, who)
	if !ok {
		return none, gone(s)
	}
	switch f {
	case Crash:
		p.crash()
		p.again(s, who)
		return none, gone(s)
	case CrashAfter:
		_, _ = do()
		p.crash()
		p.again(s, who)
		return none, gone(s)
	case Fail:
		return none, unavailable(s)
	case FailAfter:
		_, _ = do()
		return none, unavailable(s)
	case Twice:
		_, _ = do()
	case Lose:
		return none, nil
	case Delay:
		if !p.late(s, who) {
			return none, gone(s)
		}
	case Reorder:
		// Other events on their way go first.
		lapse(behind)
		if !p.again(s, who) {
			return none, gone(s)
		}
	case Pause:
		p.pause()
		if !p.again(s, who) {
			return none, gone(s)
		}
	}
	v, err := do()
	switch f {
	case DelayAfter:
		if !p.late(s, who) {
			return none, gone(s)
		}
	case PauseAfter:
		p.pause()
		if !p.again(s, who) {
			return none, gone(s)
		}
	}
	return v, err
}

// late delays only this call.
func (p *process) late(s Seam, who string) bool {
	lapse(delayed)
	return p.again(s, who)
}

// again waits for another turn, which a dead process does not get.
func (p *process) again(s Seam, who string) bool {
	return p.w.gate.pass(p, p.name+" "+string(s)+" "+who+" again", 0)
}

// gone returns the error of a call in a dead process. Nobody acts on it.
func gone(s Seam) error {
	return &event.Error{Op: string(s), Kind: event.ErrLeaseLost, Message: "the process has died"}
}

// unavailable returns an error that does not tell what happened.
func unavailable(s Seam) error {
	return &event.Error{Op: string(s), Kind: event.ErrUnavailable, Message: "the answer was lost"}
}

// crash ends the process at its current point. A new one starts on the state of the journal.
func (p *process) crash() {
	if !p.become(dead) {
		return
	}
	p.w.stopped(p)
	close(p.gone)
	for _, o := range p.w.beside(p) {
		o.w.stopped(o)
		if o.become(dead) {
			close(o.gone)
		}
	}
	base := p.w.inherit(p.base)
	p.w.spawn(func() {
		lapse(restart)
		p.w.boot(base)
	})
}

// beside lists the other processes that have the same files open. Files belong to one process, so
// its crash also ends a paused one.
func (w *world) beside(p *process) []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*process
	for _, o := range w.procs {
		if o != p && o.base == p.base && w.c.Store == "sqlite" {
			list = append(list, o)
		}
	}
	return list
}

// pause stops the process for longer than the term of a lease. Another one starts on the same
// journal at once.
func (p *process) pause() {
	if !p.become(paused) {
		return
	}
	p.w.stopped(p)
	close(p.gone)
	p.w.spawn(func() {
		lapse(restart)
		p.w.boot(p.base)
	})
	how := pausedFor
	if p.w.c.Seed%2 == 0 {
		how = pausedJust
	}
	p.w.spawn(func() {
		lapse(how)
		p.become(alive)
		p.w.gate.ring()
	})
}

// leave drains the process, as a deployment does. Its clients move to the next one, and its runs
// are released.
func (p *process) leave() {
	g := p.w.gate
	g.mu.Lock()
	stays := p.state == alive
	select {
	case <-p.gone:
		stays = false
	default:
	}
	if stays {
		g.note("    " + p.name + " drains")
		close(p.gone)
	}
	g.mu.Unlock()
	if !stays {
		return
	}
	p.w.spawn(func() {
		lapse(restart)
		p.w.boot(p.base)
	})
	p.w.spawn(func() {
		if err := p.engine.Drain(as(context.Background(), "drain")); err != nil && p.living() {
			p.w.fail("P14", "%s could not be drained: %v", p.name, err)
		}
	})
}

// become changes the state unless the process is dead.
func (p *process) become(s state) bool {
	g := p.w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.state == dead || p.state == s {
		return false
	}
	if s == alive {
		p.state = alive
		return true
	}
	first := p.state == alive
	select {
	case <-p.gone:
		// The process was paused before and has no clients.
		first = false
	default:
	}
	p.state = s
	g.note("    " + p.name + map[state]string{paused: " is paused", dead: " has crashed"}[s])
	return first
}

func (p *process) over() bool {
	select {
	case <-p.buried:
		return true
	default:
		return false
	}
}

// bury makes all waiting calls of the process return errors, and waits for them.
func (p *process) bury() {
	p.w.gate.mu.Lock()
	p.state = dead
	p.w.gate.mu.Unlock()
	close(p.buried)
	select {
	case <-p.gone:
	default:
		close(p.gone)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.engine.Drain(ctx)
	_ = p.hub.Close()
}
