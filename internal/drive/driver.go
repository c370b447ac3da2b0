package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// driver drives one run. In each round it asks next of each scope, writes in one commit what has ended and what begins,
// sends the durable events, runs what has begun, and takes in what has ended. One goroutine at a time drives, the
// reader's own or that of a step that runs alone (shift.go): only it folds, writes and sends.
type driver struct {
	// ctx ends when the run is to stop.
	ctx context.Context //nolint:containedctx // a driver lives for one call
	// stop ends ctx.
	stop context.CancelFunc
	// cfg is what the drive was given.
	cfg runConfig
	// row is the run as the store has it.
	row journal.Run

	lease   runLease
	inbox   inbox
	pending pendingCommit
	exec    executor
	out     sender

	// view is the fold of the log and of the pending commit.
	view *fold.Conversation
	// root is what the driver knows of the root's scope beyond the log.
	root thread
	// threads is the same for the other scopes, by their ids.
	threads map[string]*thread

	phase phase
	// traced is set where the fold is to know from which events its messages come.
	traced bool
	// policy is that of the decision that is made now.
	policy decide.Policy
	// now is the time at which the driver has last looked at the clock.
	now time.Time
	// fault is the error of a hook or a guardrail that ends the run.
	fault *event.Error
	// err stands beside the result of a run that has ended.
	err *event.Error
	// partial is what a model had said when it was cut off.
	partial []event.Block
}

// drive drives the run until it ends, waits or is handed back. mail is what others have left for it so far.
func (d *driver) drive(mail []journal.Mail) (err error) {
	done := false
	d.begin()
	if !d.cfg.exclusive && d.lease.renewer == nil {
		d.lease.renewer = lease.Renew(d.lease.base, d.lease.conv.Store, d.lease.held, d.stop)
	}
	d.cfg.survey()
	d.out.watchers = d.cfg.agent.Hooks.At(hooks.EventSent)
	defer func() {
		// A caller that waits for the run gets its own panic back.
		if !done && (!d.out.reading || !d.cfg.callerWaits) {
			if v := recover(); v != nil {
				d.phase, err = phaseCrashed, foreign.Panicked("run", "the run", v)
			}
		}
		d.close()
		d.letGo(done, err)
	}()
	d.callBeforeDrive()
	// What was left for an earlier run stands before this one's input.
	n := 0
	for n < len(mail) && mail[n].Early && mail[n].Kind == journal.MailMessage {
		n++
	}
	if err = d.recover(mail[:n]); err != nil {
		return err
	}
	d.deliver(mail[n:])
	err = d.iterate()
	done = true
	return err
}

// letGo gives the lease back where no commit has done that, so that the next driver need not wait until it has run out.
// done says that the loop has come to its end. The caller ends an engine's drive that broke off.
func (d *driver) letGo(done bool, err error) {
	l := &d.lease
	l.renewer.Close()
	failed := err != nil || !done && d.cfg.callerWaits
	if failed && d.phase != phaseCrashed && !errors.Is(err, event.ErrLeaseLost) && l.renewer.Err() == nil {
		l.release()
	}
	if !d.cfg.callerWaits && l.renewer.OutOfContact() && (err == nil || errors.Is(err, l.renewer.Err())) {
		giveBackLate(l.base, l.conv.Store, l.held, d.cfg.work)
	}
}

// recover writes down what can be said of the steps that were in flight when
// another driver went away, or begins the run.
func (d *driver) recover(early []journal.Mail) error {
	d.now = time.Now()
	words, begins := "", false
	if d.view.Run == nil || d.view.Run.ID != d.row.ID {
		words, begins = d.callBeforeRun(), true
		d.start()
		d.admit(early)
	} else if d.agentOf(d.view.Run.Scopes[0].Agent) == nil {
		return &event.Error{
			Op: "run", Kind: event.ErrNotFound,
			Message: "the run was begun by agent " + d.view.Run.Scopes[0].Agent + ", which this agent does not have",
			Hint:    "resume it with the agent that it was begun with; it keeps waiting",
		}
	}
	for key, value := range d.cfg.given {
		d.view.State.SetTemp(tool.StateTemp+key, value)
	}
	if begins || len(d.cfg.agent.Hooks.At(hooks.BeforeRun)) == 0 {
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
	if runs != "" && d.offer(s, d.agentIn(s)).Tool(runs) == nil {
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
		tl := d.offer(s, d.agentIn(s)).Tool(name)
		return tl != nil && tool.TraitsOf(tl).Reconcile != nil
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
		Agent: d.cfg.agent.Name, Model: d.cfg.agent.modelName(), Turn: d.row.Turn, Session: session,
		Executor: d.row.Executor, Metadata: d.labels(), Tools: d.cfg.agent.Current().Names,
	}
	if d.cfg.policed {
		o := d.cfg.agent.Current()
		_, started.Tools = d.allowed(&fold.Scope{Agent: d.cfg.agent.Name}, o.Specs, o.Names)
	}
	_, started.Tools = d.cfg.agent.Current().Told(started.Model, nil, started.Tools)
	if d.cfg.agent.Limits.Budgeted {
		spent := v.Spent
		started.Spent = &spent
	}
	if d.cfg.agent.Search != nil && session == v.Session {
		started.Found = v.Found
	}
	if d.cfg.agent.Servers != nil {
		started.Servers = d.cfg.agent.Current().Skipped(started.Model, d.cfg.agent.Servers())
	}
	d.takesOver(started)
	d.add(nil, "", 0, started)
}

// input writes what of the run's input is not in the log yet.
func (d *driver) input() error {
	root := d.view.Run.Scopes[0]
	if d.row.Key != "" {
		if run, err := d.entered(journal.LetterID(d.row.Key)); err != nil || run != "" {
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

// parkAfter is how long a wait must be at least for the run to be parked: a lease
// and a worker are not held for longer than that for nothing (DESIGN section 4).
const parkAfter = 30 * time.Second

// idle reports whether nothing runs and nothing will for a while: the run waits
// for an answer, or for a time that is far away.
func (d *driver) idle() bool {
	return d.exec.running == 0 && !d.pending.awaited && (d.exec.wakeAt.IsZero() || !d.cfg.callerWaits && d.exec.wakeAt.Sub(d.now) > parkAfter)
}

// agentIn is who works in the scope; the run's own agent where nobody has the name.
func (d *driver) agentIn(s *fold.Scope) *Agent {
	if agent := d.agentOf(s.Agent); agent != nil {
		return agent
	}
	return d.cfg.agent
}

func (d *driver) agentOf(name string) *Agent {
	return d.cfg.agentOf(name)
}

func (d *driver) waitUntil(t time.Time) {
	if !t.IsZero() && (d.exec.wakeAt.IsZero() || t.Before(d.exec.wakeAt)) {
		d.exec.wakeAt = t
	}
}
