package braid

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/sched"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
)

// driver drives one run: it holds the lease, asks next of each scope, writes
// in one commit what ended and what begins, sends the durable events, runs what
// has begun beside itself, and takes in what has ended. It is one goroutine, the
// reader's own: only it folds, writes and sends, but for the pieces of a model's answer
// (see model_call.go).
type driver struct {
	// ctx ends when the run is to stop; base outlives it, for the commits
	// that record the stop.
	ctx  context.Context //nolint:containedctx // a driver lives for one call
	base context.Context //nolint:containedctx // the same
	stop context.CancelFunc

	conv  *Conversation
	lease journal.Lease
	// keeper is nil where the driver is alone: nobody else can take the lease.
	keeper *keeper
	row    journal.Run
	agent  *Agent
	team   map[string]*Agent
	// want is what the caller wants the root's answer to be; nil leaves it to the agent.
	want *output.Form
	view *fold.Conversation
	// sink takes an event to the reader and says whether it wants more.
	sink func(event.Event) bool
	// broken says that it wants no more, ending that the run is to stop, as of this round's
	// decisions.
	broken bool
	ending bool
	// held says that something waits for this round's commit; fault is the error of a
	// hook that ends the run.
	held   bool
	hooked bool
	// policed says that an agent of the run may not call all of its tools by itself.
	policed bool
	// traced says that the fold is to know where its messages come from.
	traced    bool
	simulated bool
	alone     bool
	// patient says that the caller waits for the run itself: it is not parked for a
	// timer.
	patient bool
	// parked and handed are set when the lease was given back, handing while the run
	// is being handed back.
	parked  bool
	handing bool
	handed  bool
	// private says that nobody but the reader can stop the run; graced that what ran when
	// it was to stop has had its time; abandoned that a step was left behind, whose goroutine
	// may hold the driver.
	private   bool
	graced    bool
	abandoned bool
	fault     *event.Error
	// watchers are the hooks over the stream, sent what they are called with, and trace
	// the run's place in a distributed trace.
	watchers []hooks.Hook
	sent     *EventSent
	trace    string
	// given is the state that the caller gave the run; nil for none.
	given map[string]json.RawMessage
	// secrets are the run's, mask finds them, and masks is the mask as a guardrail. All are nil for none.
	secrets map[string]secret.Secret
	mask    *secret.Mask
	masks   []guard

	// work is what an engine gave the driver besides the run; poked rings when
	// this process has left mail; gate is a simulation's.
	work  Work
	poked <-chan struct{}
	gate  sched.Gate

	// events, read and status are the commit that is being put together; door
	// holds the messages that have not been let in.
	slab   []event.Event
	events []*event.Event
	read   []string
	door   []journal.Mail
	now    time.Time

	// policy is that of the decision that is made now, bounds are the limits of the run's agents by name.
	policy decide.Policy
	bounds map[string]*decide.Limits

	// root and threads are what the driver itself knows of the scopes; running counts the steps that it runs.
	root    thread
	threads map[string]*thread
	running int
	todo    []*work
	queue   []*work
	flights []*work
	helper  *helper
	// arrivals is made with the first step that runs beside the driver.
	arrivals chan arrival
	quit     chan struct{}
	timer    *time.Timer
	timerAt  time.Time
	fired    chan struct{}
	wake     time.Time
	// model, asm, inline and sendLive serve the model calls with which nothing else runs,
	// and turn those of them on the helper.
	turn     turn
	model    *modelWork
	asm      *assembler
	inline   event.Event
	sendLive func(event.Body) bool
	live     int64

	// reading is set while the reader has an event.
	reading bool
	// crashed is set where the drive panicked. The caller ends the run then, under the lease.
	crashed bool

	// err stands beside the result of a run that ended; partial is what a model
	// had said when it was cut off.
	err     *event.Error
	partial []event.Block
}

// drive takes the run's conversation and drives it until it ends or waits. The
// driver's view is given back by the caller only when err is nil.
func (d *driver) drive(letters []journal.Mail) (err error) {
	done := false
	if !d.alone && d.keeper == nil {
		d.keeper = keep(d.base, d.conv.store, d.lease, d.lease.Term, d.stop)
	}
	d.hooked, d.policed = d.agent.hooks.Inside(), d.agent.permits != nil
	if len(d.team) > 0 {
		d.bounds = map[string]*decide.Limits{d.agent.name: &d.agent.bounds}
	}
	for name, a := range d.team {
		d.bounds[name] = &a.bounds
		d.hooked = d.hooked || a.hooks.Inside()
		d.policed = d.policed || a.permits != nil
	}
	d.private = d.private && !d.hooked && d.agent.hooks == nil // one around the drive may let others stop it
	d.watchers = d.agent.hooks.At(hooks.EventSent)
	defer func() {
		// In a library the reader's own panic goes on.
		if !done && (!d.reading || !d.patient) {
			if v := recover(); v != nil {
				d.crashed, err = true, panicked("run", "the run", v)
			}
		}
		d.close()
		d.keeper.close()
		// Whoever comes next need not wait until the lease has run out. An engine's drive that is broken off
		// is ended by take.
		if (err != nil || !done) && !d.crashed && (done || err != nil || d.patient) &&
			!errors.Is(err, event.ErrLeaseLost) && d.keeper.err() == nil {
			_ = d.conv.store.Commit(d.base, d.lease, journal.Batch{Release: true})
		}
		if !d.patient && d.keeper.outLived() && (err == nil || errors.Is(err, d.keeper.err())) {
			giveBackLate(d.base, d.conv.store, d.lease, &d.work)
		}
	}()
	d.simulated = d.agent.simulated(d.team)
	d.tellTaken()
	// What was left for an earlier run stands before this one's input.
	n := 0
	for n < len(letters) && letters[n].Early && letters[n].Kind == journal.MailMessage {
		n++
	}
	if err = d.recover(letters[:n]); err != nil {
		return err
	}
	d.mail(letters[n:])
	err = d.iterate()
	done = true
	return err
}

// recover writes down what can be said of the steps that were in flight when
// another driver went away, or begins the run.
func (d *driver) recover(early []journal.Mail) error {
	d.now = time.Now()
	words, begins := "", false
	if d.view.Run == nil || d.view.Run.ID != d.row.ID {
		words, begins = d.tellBegin(), true
		d.start()
		d.enter(early)
	} else if d.agentOf(d.view.Run.Scopes[0].Agent) == nil {
		return &event.Error{
			Op: "run", Kind: event.ErrNotFound,
			Message: "the run was begun by agent " + d.view.Run.Scopes[0].Agent + ", which this agent does not have",
			Hint:    "resume it with the agent that it was begun with; it keeps waiting",
		}
	}
	for key, value := range d.given {
		d.view.State.SetTemp(StateTemp+key, value)
	}
	if begins || len(d.agent.hooks.At(hooks.BeforeRun)) == 0 {
		// Of a run that has begun, the log has what a hook made of its input.
		if err := d.input(); err != nil {
			return err
		}
	}
	if words != "" {
		d.reply(words)
	}
	for _, s := range d.view.Run.Scopes {
		if s.Closed != nil {
			d.answerCall(s)
			continue
		}
		d.endLostSteps(s)
	}
	return nil
}

// repeatable reports whether a call that was in flight when its driver died may
// begin again. Of one that was to be reconciled nobody is left to ask where the
// tool has changed since.
func (d *driver) repeatable(s *fold.Scope, c *fold.Call) bool {
	runs := c.Extra().Runs
	if runs != "" && d.offer(s, d.agentIn(s)).tool(runs) == nil {
		return false // nobody knows any more what a hook put in the tool's place
	}
	switch c.Effect {
	case event.EffectPure, event.EffectIdempotent:
		return true
	case event.EffectReconcilable:
		name := c.Name
		if runs != "" {
			name = runs
		}
		tool := d.offer(s, d.agentIn(s)).tool(name)
		return tool != nil && TraitsOf(tool).Reconcile != nil
	default:
		return false
	}
}

// start writes the first events of a new run.
func (d *driver) start() {
	v := d.view
	session := max(v.Session, 1)
	if d.row.NewSession && v.Session > 0 {
		session = v.Session + 1
	}
	started := &event.RunStarted{
		Agent: d.agent.name, Model: d.agent.modelName(), Turn: d.row.Turn, Session: session,
		Executor: d.row.Executor, Metadata: d.labels(), Tools: d.agent.current().names,
	}
	if d.policed {
		o := d.agent.current()
		_, started.Tools = d.allowed(&fold.Scope{Agent: d.agent.name}, o.specs, o.names)
	}
	_, started.Tools = d.agent.current().told(started.Model, nil, started.Tools)
	if d.agent.limits.Conversation != (Budget{}) {
		spent := v.Spent
		started.Spent = &spent
	}
	if d.agent.search != nil && session == v.Session {
		started.Found = v.Found
	}
	if d.agent.servers != nil {
		started.Servers = d.agent.current().skipped(started.Model, d.agent.servers())
	}
	d.takesOver(started)
	d.add(nil, "", 0, started)
}

// input writes what of the run's input is not in the log yet.
func (d *driver) input() error {
	root := d.view.Run.Scopes[0]
	if d.row.Key != "" {
		if run, err := d.entered(LetterID(d.row.Key)); err != nil || run != "" {
			return err // it steered an earlier run, whose sender did not learn of that
		}
	}
	for _, m := range d.row.Input[min(int(d.view.Run.Inputs), len(d.row.Input)):] {
		if m.Role == event.RoleAssistant {
			stop := event.StopEndTurn
			if fold.CountCalls(m.Content) > 0 {
				stop = event.StopToolUse
			}
			d.addInput(root, m.Content, func(c []event.Block) event.Body { return &event.AssistantMessage{Content: c, Stop: stop} })
			continue
		}
		d.addInput(nil, m.Content, func(c []event.Block) event.Body { return &event.UserMessage{Content: c} })
	}
	return nil
}

// add makes a durable event, folds it and puts it into the commit. A nil scope
// is the root speaking for the user.
func (d *driver) add(s *fold.Scope, step string, attempt int, body event.Body) {
	cycle := 0
	if s != nil {
		cycle = s.Cycle
	}
	d.addAt(s, cycle, step, attempt, body)
}

// addAt is add for an event that begins a cycle.
func (d *driver) addAt(s *fold.Scope, cycle int, step string, attempt int, body event.Body) {
	if len(d.slab) == cap(d.slab) {
		// A turn without tools has five events, a cycle with one tool four.
		n := 16
		switch cap(d.slab) {
		case 0:
			n = 5
		case 5:
			n = 8
		}
		d.slab = make([]event.Event, 0, n)
	}
	d.slab = d.slab[:len(d.slab)+1]
	e := &d.slab[len(d.slab)-1]
	e.Seq = d.view.Last + 1
	d.head(&e.Header, s, step, attempt)
	e.Cycle = cycle
	e.Time = d.now
	e.Body = body
	d.view.Add(e)
	d.events = append(d.events, e)
}

func (d *driver) head(h *event.Header, s *fold.Scope, step string, attempt int) {
	h.Conversation, h.Run = d.row.Conversation, d.row.ID
	h.Step, h.Attempt, h.Simulated = step, attempt, d.simulated
	h.Author = event.UserAuthor
	if s != nil {
		h.Scope, h.Cycle, h.Author = s.ID, s.Cycle, s.Agent
	}
}

// commit writes what the last round decided, and sends it once it is durable.
func (d *driver) commit() error {
	run := d.view.Run
	news := d.hooked && run.Ended == nil && d.news()
	if news && !d.handed {
		d.held = true // they are told before the run goes on, or is parked
	}
	b := journal.Batch{Events: d.events, Read: d.read}
	switch {
	case run.Ended != nil:
		b.Status, b.Release = run.Ended.Status, true
	case d.handed:
		b.Release = true
	case d.idle():
		b.Status, b.Release, b.WakeAt = event.RunWaiting, true, d.wake
		d.parked = true
	case len(b.Events) == 0 && len(b.Read) == 0:
		return nil
	}
	if err := d.write(b); err != nil {
		return err
	}
	for _, e := range d.events {
		d.send(*e)
	}
	if news {
		d.tellNews(d.events)
	}
	clear(d.events)
	d.events, d.read = d.events[:0], d.read[:0]
	return nil
}

// write commits. A store that cannot be reached may have written all the same,
// so the same batch is simply repeated, until the lease may have run out.
func (d *driver) write(b journal.Batch) error {
	wait := 10 * time.Millisecond
	for stalled := false; ; {
		if err := d.keeper.err(); err != nil {
			return err
		}
		err := d.conv.commit(d.base, d.lease, b)
		if stalled && err == nil {
			d.work.stalled(nil)
		}
		if err == nil || !errors.Is(err, event.ErrUnavailable) || wait > d.keeper.left() {
			return err
		}
		if !stalled {
			stalled = true
			d.work.stalled(err)
		}
		<-time.After(wait)
		wait = min(2*wait, time.Second)
	}
}

// stalled reports that the store refuses to write, or, with nil, that it writes again.
func (w *Work) stalled(err error) {
	if w.Stalled != nil {
		w.Stalled(err)
	}
}

// parkAfter is how long a wait must be at least for the run to be parked: a lease
// and a worker are not held for longer than that for nothing (DESIGN section 4).
const parkAfter = 30 * time.Second

// idle reports whether nothing runs and nothing will for a while: the run waits
// for an answer, or for a time that is far away.
func (d *driver) idle() bool {
	return d.running == 0 && !d.held && (d.wake.IsZero() || !d.patient && d.wake.Sub(d.now) > parkAfter)
}

func (d *driver) over() bool { return d.parked || d.handed || d.view.Run.Ended != nil }

// send takes an event to the reader. One that stops reading cancels the run.
func (d *driver) send(e event.Event) {
	if len(d.watchers) > 0 {
		d.tellSent(e)
	}
	if d.broken {
		return
	}
	d.reading = true
	more := d.sink(e)
	d.reading = false
	if !more {
		d.broken = true
		d.stop()
	}
}

// agentIn is who works in the scope; the run's own agent where nobody has the name.
func (d *driver) agentIn(s *fold.Scope) *Agent {
	if agent := d.agentOf(s.Agent); agent != nil {
		return agent
	}
	return d.agent
}

func (d *driver) agentOf(name string) *Agent {
	if name == d.agent.name {
		return d.agent
	}
	return d.team[name]
}

func (d *driver) waitUntil(t time.Time) {
	if !t.IsZero() && (d.wake.IsZero() || t.Before(d.wake)) {
		d.wake = t
	}
}
