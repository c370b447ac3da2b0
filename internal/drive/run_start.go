package drive

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// recover writes down what can be said of the steps that were in flight when
// another driver went away, or begins the run.
func (d *activeRun) recover(early []journal.Mail) error {
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
	if err := d.fits(); err != nil {
		return err
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
		d.reopen(s)
		d.endLostSteps(s)
	}
	return nil
}

// start writes the first events of a new run.
func (d *activeRun) start() {
	v := d.view
	was, session := v.Run, max(v.Session, 1)
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
	to := d.sticky(was, session == v.Session, started.Continues != "")
	d.add(nil, "", 0, started)
	d.began = true
	if to != "" {
		d.add(d.view.Run.Scopes[0], "", 0, &event.Transferred{From: d.cfg.agent.Name, To: to})
	}
	if len(d.repairs) > 0 {
		d.add(nil, "", 0, RepairNotice(d.repairs))
	}
}

// input writes what of the run's input is not in the log yet.
func (d *activeRun) input() error {
	root := d.view.Run.Scopes[0]
	if d.row.Key != "" {
		if run, err := d.entered(journal.LetterID(d.row.Key)); err != nil || run != "" {
			return err // it steered an earlier run, whose sender did not learn of that
		}
	}
	for _, m := range d.messages[min(int(d.view.Run.Inputs), len(d.messages)):] {
		d.addMessage(root, nil, m)
	}
	return nil
}

// addMessage writes a message of the input after the guardrails have passed it. user is the scope under which it writes
// the user's.
func (d *activeRun) addMessage(root, user *fold.Scope, m event.Message) {
	if m.Role != event.RoleAssistant {
		d.addInput(user, m.Content, func(c []event.Block) event.Body { return &event.UserMessage{Content: c} })
		return
	}
	stop := event.StopEndTurn
	if fold.CountCalls(m.Content) > 0 {
		stop = event.StopToolUse
	}
	d.addInput(root, m.Content, func(c []event.Block) event.Body { return &event.AssistantMessage{Content: c, Stop: stop} })
}

// takesOver notes at a run's beginning which failed run it continues. Where another run came between, the run
// fails: it has no input of its own.
func (d *activeRun) takesOver(b *event.RunStarted) {
	failed := d.row.Metadata[journal.ContinuesLabel]
	if failed == "" || len(d.messages) > 0 {
		return
	}
	if v := d.view; v.Run != nil && v.Run.ID == failed && !d.row.NewSession {
		switch {
		case v.Continuable():
			b.Continues, b.From = failed, v.Run.First
			return
		case v.Limited():
			return
		}
	}
	d.failWith(&event.Error{
		Op: "resume", Kind: event.ErrConflict, Message: "the run that was to be continued is not the conversation's newest, or did not fail",
		Hint: "begin a run with new input",
	})
}
