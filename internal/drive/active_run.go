package drive

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/journal"
)

// activeRun is the run that a driver drives: its settings, the fold of its log, the commit that is being prepared and
// the way to the reader. Its methods do what the parts of an agent promise. None of them can begin, wait for or end a
// step; that is for [driver].
type activeRun struct {
	// ctx ends when the run is to stop.
	ctx context.Context //nolint:containedctx // a driver lives for one call
	// stop ends ctx.
	stop context.CancelFunc
	// cfg is what the drive was given.
	cfg runConfig
	// row is the run as the store has it.
	row *journal.Run
	// messages are the row's input, repaired and as hooks have left it.
	messages []event.Message

	lease   runLease
	pending pendingCommit
	out     sender

	// view is the fold of the log and of the pending commit.
	view *fold.Conversation
	// root is what the driver knows of the root's scope beyond the log.
	root thread
	// threads is the same for the other scopes, by their ids.
	threads map[string]*childThread

	phase phase
	// traced is set where the fold is to know from which events its messages come.
	traced bool
	// began is set if this drive has begun the run.
	began bool
	// policy is that of the decision that is made now.
	policy decide.Policy
	// now is the time at which the driver has last looked at the clock.
	now time.Time
	// fault is the error of a hook or a guardrail that ends the run.
	fault *event.Error
	// err stands beside the result of a run that has ended.
	err *event.Error
	// repairs say what was changed in the run's input so that models accept it.
	repairs []string
	// variants are the agents that work with a model that a call chose.
	variants map[variantKey]*Agent
	// unopened says by scope why the model that its call chose cannot be opened any more.
	unopened map[string]*event.Error
	// partial is what a model had said when it was cut off.
	partial []event.Block
}

// agentIn returns the scope's agent, or the run's own agent if no agent has that name.
func (d *activeRun) agentIn(s *fold.Scope) *Agent {
	asked := ""
	if s.Task != nil {
		asked = s.Task.Model
	}
	if agent := d.worker(s.Agent, asked); agent != nil {
		return agent
	}
	return d.cfg.agent
}

// worker returns the agent of a name, with the model that a call chose if it named one; nil for none.
func (d *activeRun) worker(name, asked string) *Agent {
	if asked != "" {
		if agent := d.variants[variantKey{name, asked}]; agent != nil {
			return agent
		}
	}
	return d.agentOf(name)
}

func (d *activeRun) agentOf(name string) *Agent {
	return d.cfg.agentOf(name)
}

// add makes a durable event, folds it and puts it into the commit. A nil scope is the root speaking for the user.
func (d *activeRun) add(s *fold.Scope, step string, attempt int, body event.Body) {
	cycle := 0
	if s != nil {
		cycle = s.Cycle
	}
	d.addAt(s, cycle, step, attempt, body)
}

// addAt is add for an event that begins a cycle.
func (d *activeRun) addAt(s *fold.Scope, cycle int, step string, attempt int, body event.Body) {
	e := d.pending.newEvent()
	d.fillHeader(&e.Header, s, step, attempt)
	e.Seq, e.Cycle, e.Time, e.Body = d.view.Last+1, cycle, d.now, body
	d.view.Add(e)
	d.pending.events = append(d.pending.events, e)
}

// fillHeader fills in what a step says in the header of its events. The header is filled where it lies: a copy into the
// event costs write barriers.
func (d *activeRun) fillHeader(h *event.Header, s *fold.Scope, step string, attempt int) {
	h.Conversation, h.Run, h.Step, h.Attempt = d.row.Conversation, d.row.ID, step, attempt
	h.Simulated, h.Author = d.cfg.simulated, event.UserAuthor
	if s != nil {
		h.Scope, h.Cycle, h.Author = s.ID, s.Cycle, s.Agent
		h.Branch = s.Place.Branch
	}
}

// thread returns what the driver knows of a scope.
func (d *activeRun) thread(s *fold.Scope) *thread {
	if s.Depth == 0 {
		return &d.root
	}
	return &d.childThread(s).thread
}

// childThread returns what the driver knows of a scope below the root.
func (d *activeRun) childThread(s *fold.Scope) *childThread {
	t := d.threads[s.ID]
	if t == nil {
		if d.threads == nil {
			d.threads = make(map[string]*childThread)
		}
		t = &childThread{}
		d.threads[s.ID] = t
	}
	return t
}

// offer returns the tools of the scope's last model call. Before this driver's first one it returns the agent's
// present tools.
func (d *activeRun) offer(s *fold.Scope, agent *Agent) *toolset.Offer {
	if o := d.thread(s).offered; o != nil {
		return o
	}
	return agent.Current()
}
