package braid

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// driver drives one run: it holds the lease, asks [Next] of each scope, writes
// in one commit what ended and what begins, sends the durable events, runs what
// has begun beside itself, and takes in what has ended. It is one goroutine, the
// reader's own: only it folds, writes and sends.
type driver struct {
	// ctx ends when the run is to stop; base outlives it, for the commits
	// that record the stop.
	ctx  context.Context //nolint:containedctx // a driver lives for one call
	base context.Context //nolint:containedctx // the same
	stop context.CancelFunc

	store journal.Store
	lease journal.Lease
	// keeper is nil where the driver is alone: nobody else can take the lease.
	keeper *keeper
	alone  bool
	row    journal.Run
	agent  *Agent
	team   map[string]*Agent
	view   *view
	// sink takes an event to the reader and says whether it wants more.
	sink   func(event.Event) bool
	broken bool
	// ending is whether the run is to stop, as of this round's decisions.
	ending    bool
	simulated bool

	// events, read and status are the commit that is being put together.
	slab   []event.Event
	events []*event.Event
	read   []string
	parked bool
	now    time.Time

	running running
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
	// model, asm, inline and sendLive serve the model calls on the driver's own
	// goroutine.
	model    modelWork
	asm      assembler
	inline   event.Event
	sendLive func(event.Body) bool
	live     int64

	// err stands beside the result of a run that ended; partial is what a model
	// had said when it was cut off.
	err     *event.Error
	partial []event.Block
}

// drive takes the run's conversation and drives it until it ends or waits. The
// driver's view is given back by the caller only when err is nil.
func (d *driver) drive(letters []journal.Mail) (err error) {
	done := false
	if !d.alone {
		d.keeper = keep(d.base, d.store, d.lease, d.lease.Term, d.stop)
	}
	defer func() {
		d.close()
		d.keeper.close()
		// The reader's loop may have panicked, too: whoever comes next need not
		// wait until the lease has run out.
		if (err != nil || !done) && !errors.Is(err, event.ErrLeaseLost) {
			_ = d.store.Commit(d.base, d.lease, journal.Batch{Release: true})
		}
	}()
	if err = d.recover(); err != nil {
		return err
	}
	d.mail(letters)
	err = d.iterate()
	done = true
	return err
}

// recover writes down what can be said of the steps that were in flight when
// another driver went away, and takes in the mail.
func (d *driver) recover() error {
	d.now = time.Now()
	if d.view.run == nil || d.view.run.id != d.row.ID {
		d.start()
	} else if d.agentOf(d.view.run.scopes[0].agent) == nil {
		return &event.Error{
			Op: "run", Kind: event.ErrNotFound,
			Message: "the run was begun by agent " + d.view.run.scopes[0].agent + ", which this agent does not have",
			Hint:    "resume it with the agent that it was begun with; it keeps waiting",
		}
	}
	d.input()
	for _, s := range d.view.run.scopes {
		if s.closed != nil {
			d.answerCall(s)
			continue
		}
		if s.model.state == modelBegun {
			d.add(s, s.model.step, s.model.attempt, &event.StepEnded{
				Step: event.StepModel, Outcome: event.OutcomeLost, UsageUnknown: true,
			})
		}
		for _, c := range slices.Clone(s.batch) {
			if c.state == callBegun && c.child == nil && !d.repeatable(s, c) {
				d.add(s, c.step, c.attempt, &event.StepEnded{
					Step: event.StepTool, Outcome: event.OutcomeInDoubt,
					Result: &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{
						Text: "In doubt: the program stopped while this tool was running. It may or may not have taken effect. " +
							"Find out before doing it again.",
					}}},
				})
			}
		}
	}
	return nil
}

// repeatable reports whether a call that was in flight when its driver died may
// begin again. Of one that was to be reconciled nobody is left to ask where the
// tool has changed since.
func (d *driver) repeatable(s *Scope, c *call) bool {
	switch c.effect {
	case event.EffectPure, event.EffectIdempotent:
		return true
	case event.EffectReconcilable:
		tool := d.inputs(s).Agent.tool(c.Name)
		return tool != nil && TraitsOf(tool).Reconcile != nil
	default:
		return false
	}
}

// start writes the first events of a new run.
func (d *driver) start() {
	v := d.view
	session := max(v.session, 1)
	if d.row.NewSession && v.session > 0 {
		session = v.session + 1
	}
	started := &event.RunStarted{
		Agent: d.agent.name, Model: d.agent.model.Info().Name, Turn: d.row.Turn, Session: session,
		Executor: d.row.Executor, Metadata: d.row.Metadata,
	}
	if n := len(d.agent.specs); n > 0 {
		started.Tools = make([]string, n)
		for i := range d.agent.specs {
			started.Tools[i] = d.agent.specs[i].Name
		}
	}
	d.add(nil, "", 0, started)
}

// input writes what of the run's input is not in the log yet.
func (d *driver) input() {
	root := d.view.run.scopes[0]
	for _, m := range d.row.Input[min(d.view.run.inputs, len(d.row.Input)):] {
		if m.Role == event.RoleAssistant {
			d.add(root, "", 0, &event.AssistantMessage{Content: m.Content, Stop: event.StopEndTurn})
			continue
		}
		d.add(nil, "", 0, &event.UserMessage{Content: m.Content})
	}
}

// mail takes in what others left for the run.
func (d *driver) mail(letters []journal.Mail) {
	for i := range letters {
		m := &letters[i]
		switch m.Kind {
		case journal.MailAnswer:
			d.read = append(d.read, m.ID)
			if slices.ContainsFunc(d.view.run.questions, func(q *question) bool {
				return q.Token == m.Token && !q.answered
			}) {
				d.add(nil, "", 0, &event.Answered{Token: m.Token, Value: m.Value, By: m.By})
			}
		case journal.MailCancel:
			d.read = append(d.read, m.ID)
			d.stop()
		case journal.MailMessage, journal.MailChild:
			// Left unread: nothing here sends them yet.
		}
	}
}

// add makes a durable event, folds it and puts it into the commit. A nil scope
// is the root speaking for the user.
func (d *driver) add(s *Scope, step string, attempt int, body event.Body) {
	cycle := 0
	if s != nil {
		cycle = s.cycle
	}
	d.addAt(s, cycle, step, attempt, body)
}

// addAt is add for an event that begins a cycle.
func (d *driver) addAt(s *Scope, cycle int, step string, attempt int, body event.Body) {
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
	e.Seq = d.view.last + 1
	d.head(&e.Header, s, step, attempt)
	e.Cycle = cycle
	e.Time = d.now
	e.Body = body
	d.view.fold(e)
	d.events = append(d.events, e)
}

func (d *driver) head(h *event.Header, s *Scope, step string, attempt int) {
	h.Conversation, h.Run = d.row.Conversation, d.row.ID
	h.Step, h.Attempt, h.Simulated = step, attempt, d.simulated
	h.Author = event.UserAuthor
	if s != nil {
		h.Scope, h.Cycle, h.Author = s.id, s.cycle, s.agent
	}
}

// commit writes what the last round decided, and sends it once it is durable.
func (d *driver) commit() error {
	run := d.view.run
	b := journal.Batch{Events: d.events, Read: d.read}
	switch {
	case run.ended != nil:
		b.Status, b.Release = run.ended.Status, true
	case d.idle():
		b.Status, b.Release = event.RunWaiting, true
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
	clear(d.events)
	d.events, d.read = d.events[:0], d.read[:0]
	return nil
}

// write commits. A store that cannot be reached may have written all the same,
// so the same batch is simply repeated, until the lease may have run out.
func (d *driver) write(b journal.Batch) error {
	if err := d.keeper.err(); err != nil {
		return err
	}
	wait := 10 * time.Millisecond
	for {
		err := d.store.Commit(d.base, d.lease, b)
		if err == nil || !errors.Is(err, event.ErrUnavailable) || wait > d.keeper.left() {
			return err
		}
		<-time.After(wait)
		wait = min(2*wait, time.Second)
	}
}

// idle reports whether nothing runs and no timer is set: only an answer can
// move the run.
func (d *driver) idle() bool { return d.running.n == 0 && d.wake.IsZero() }

func (d *driver) over() bool { return d.parked || d.view.run.ended != nil }

// send takes an event to the reader. One that stops reading cancels the run.
func (d *driver) send(e event.Event) {
	if d.broken {
		return
	}
	if !d.sink(e) {
		d.broken = true
		d.stop()
	}
}

func (d *driver) inputs(s *Scope) Inputs {
	agent := d.agentOf(s.agent)
	if agent == nil {
		agent = d.agent
	}
	in := Inputs{
		Agent: agent, Now: d.now, Usage: d.view.run.usage, Scopes: len(d.view.run.scopes), running: &d.running,
	}
	if d.ending {
		in.Expired = errors.Is(context.Cause(d.ctx), context.DeadlineExceeded) && !d.broken
		in.Cancelled = !in.Expired
	}
	return in
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

// beginModel begins the scope's next model call, or the next attempt of the
// one that failed.
func (d *driver) beginModel(s *Scope, agent *Agent, why event.Why) {
	attempt := 1
	if why == event.WhyRetry || why == event.WhyTakenOver {
		attempt = s.model.attempt + 1
	}
	cycle := s.cycle
	if attempt == 1 {
		cycle++
	}
	step := stepName(s.id, 'm', cycle, 0)
	d.addAt(s, cycle, step, attempt, &event.StepBegun{Step: event.StepModel, Why: why, Model: agent.model.Info().Name})
	s.model.by = &d.running
	d.running.n++
	// A model call on the driver's own goroutine is over before the next one
	// begins, so one piece of memory serves them all.
	w := &d.model
	if w.request != nil || d.running.n > 1 {
		w = &modelWork{}
	}
	*w = modelWork{
		work: work{scope: s, agent: agent, step: step, attempt: attempt, begun: d.now},
		own: ModelRequest{
			Instructions: agent.instructions, Messages: s.talk.shared(), Tools: agent.specs,
			Run: d.row.ID, Scope: s.id, Cycle: cycle, Attempt: attempt, Options: agent.options,
		},
	}
	w.request, w.answer = &w.own, &w.end
	d.todo = append(d.todo, &w.work)
}

// beginTools begins calls. What can be answered without running anything (an
// unknown tool, arguments that are no JSON) is answered at once.
func (d *driver) beginTools(s *Scope, agent *Agent, calls []*call) {
	for _, c := range calls {
		reconcile := c.state == callBegun && c.effect == event.EffectReconcilable
		attempt := c.attempt + 1
		tool := agent.tool(c.Name)
		var traits Traits
		if tool != nil {
			traits = TraitsOf(tool)
		}
		reconcile = reconcile && traits.Reconcile != nil
		d.add(s, c.step, attempt, &event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: traits.Effect, Reconcile: reconcile,
		})
		if kind, text := refusal(agent, tool, c); text != "" {
			d.refuse(s, c, kind, text)
			continue
		}
		w := &toolWork{
			work: work{scope: s, entry: c, agent: agent, step: c.step, attempt: attempt, begun: d.now},
			own: Call{
				Context: d.ctx, ID: c.ID, Name: c.Name, Args: c.Args, Conversation: d.row.Conversation,
				Run: d.row.ID, Scope: s.id, Step: c.step, Agent: s.agent, Attempt: attempt,
				tool: tool, traits: traits, reconcile: reconcile, box: d.view.state, asks: slices.Clone(c.asks),
			},
		}
		w.call = &w.own
		switch {
		case traits.Timeout > 0:
			w.bound = traits.Timeout + max(d.agent.limits.Grace, 0)
		case agent.limits.ToolTime > 0:
			w.bound = agent.limits.ToolTime
		}
		c.by = &d.running
		d.running.n++
		d.todo = append(d.todo, &w.work)
	}
}

// refusal says why a call cannot be run at all.
func refusal(agent *Agent, tool Tool, c *call) (event.ErrorKind, string) {
	switch {
	case tool == nil:
		names := make([]string, len(agent.specs))
		for i := range agent.specs {
			names[i] = agent.specs[i].Name
		}
		return event.ErrNotFound, "Error: there is no tool called " + quote(c.Name) + "; the tools are: " + list(names) + "."
	case c.Args == nil:
		return event.ErrInvalid, "Error: " + c.Fault + "."
	default:
		return "", ""
	}
}

// refuse ends a call that was begun and never ran.
func (d *driver) refuse(s *Scope, c *call, kind event.ErrorKind, text string) {
	d.add(s, c.step, c.attempt, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone,
		Result: &event.ToolResult{
			Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{Text: text}},
		},
		Err: &event.Error{Op: "tool " + c.Name, Kind: kind, Message: strings.TrimPrefix(text, "Error: ")},
	})
}

// openScopes opens a child scope for each call of an agent. Nothing is called:
// the child's own Next does the rest.
func (d *driver) openScopes(s *Scope, agent *Agent, calls []*call) {
	l := &d.agent.limits
	for _, c := range calls {
		child := agent.child(c.Name)
		d.add(s, c.step, c.attempt+1, &event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectIdempotent,
		})
		input, text := agentInput(c)
		switch {
		case text != "":
		case l.Depth > 0 && s.depth+1 > l.Depth:
			text = "Error: agents may call agents " + itoa(l.Depth) + " levels deep, and this would be one more."
		case l.Scopes > 0 && len(d.view.run.scopes) >= l.Scopes:
			text = "Error: the run has opened as many agents as it may (" + itoa(l.Scopes) + ")."
		}
		if text != "" {
			d.refuse(s, c, event.ErrLimit, text)
			continue
		}
		d.add(s, c.step, c.attempt, &event.ScopeOpened{
			ID: c.step, Parent: s.id, Call: c.ID, Agent: child.agent.name, Depth: s.depth + 1, Input: input,
		})
	}
}

// finish ends a scope: every call that is still open gets a result in the same
// commit, a child gives its parent the result, and the root ends the run.
func (d *driver) finish(s *Scope, cmd Command) {
	d.closeSteps(s)
	if s.depth > 0 {
		d.closeScope(s, cmd)
		return
	}
	r := d.view.run
	ended := &event.RunEnded{
		Status: event.RunCompleted, Stop: cmd.Stop, Why: cmd.Why, Err: cmd.Err,
		Usage: r.usage, Models: r.models, Cycles: r.metrics.Cycles, Duration: d.now.Sub(r.started),
	}
	switch cmd.Why {
	case event.WhyFailed:
		ended.Status = event.RunFailed
	case event.WhyCancelled, event.WhyDeadline:
		ended.Status = event.RunCancelled
	}
	d.err = cmd.Err
	d.add(s, "", 0, ended)
}

// closeSteps ends what the scope still has open.
func (d *driver) closeSteps(s *Scope) {
	for _, c := range slices.Clone(s.batch) {
		if c.state == callEnded {
			continue
		}
		outcome, text := event.OutcomeCancelled, "The tool call was cancelled before it gave a result."
		if c.state == callNew {
			text = "The tool call was cancelled and never begun."
		}
		if w := d.flight(c.step); w != nil {
			outcome = event.OutcomeStraggler
			text = "The tool " + quote(c.Name) + " did not stop when it was cancelled and was left behind; " +
				"it may still have an effect."
			d.leave(w)
		}
		d.add(s, c.step, c.attempt, &event.StepEnded{
			Step: event.StepTool, Outcome: outcome, Result: &event.ToolResult{
				Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{Text: text}},
			},
		})
	}
	if s.model.state == modelBegun {
		outcome := event.OutcomeCancelled
		if w := d.flight(s.model.step); w != nil {
			outcome = event.OutcomeStraggler
			d.leave(w)
		}
		d.add(s, s.model.step, s.model.attempt, &event.StepEnded{
			Step: event.StepModel, Outcome: outcome, UsageUnknown: true,
		})
	}
}

// closeScope ends a child and its parent's call in one commit.
func (d *driver) closeScope(s *Scope, cmd Command) {
	output := []event.Block(nil)
	if n := len(s.talk.msgs); n > 0 && s.talk.msgs[n-1].Role == event.RoleAssistant {
		output = s.talk.msgs[n-1].Content
	}
	d.add(s, "", 0, &event.ScopeClosed{ID: s.id, Output: output, Stop: cmd.Stop, Why: cmd.Why, Err: cmd.Err})
	d.answerCall(s)
}

// answerCall gives the call that opened a scope, now closed, its result. It is a
// function of the log: where the log ends between the two, as one that was copied
// in part may, the next driver writes the same.
func (d *driver) answerCall(s *Scope) {
	c, end := s.opener, s.closed
	if c == nil || c.state == callEnded {
		return
	}
	r := &event.ToolResult{Call: c.ID, Name: c.Name}
	if text := event.TextOf(end.Output); text != "" {
		r.Content = append(r.Content, &event.Text{Text: text})
	}
	outcome := event.OutcomeDone
	if end.Err != nil {
		r.IsError = true
		r.Content = append(r.Content, &event.Text{Text: "Error: agent " + quote(s.agent) + ": " + end.Err.Message + "."})
		if end.Why == event.WhyCancelled || end.Why == event.WhyDeadline {
			outcome = event.OutcomeCancelled
		}
	}
	if len(r.Content) == 0 {
		r.Content = []event.Block{&event.Text{Text: "The agent gave no answer."}}
	}
	d.add(s.parent, c.step, c.attempt, &event.StepEnded{Step: event.StepTool, Outcome: outcome, Result: r, Err: end.Err})
}

// perform runs what has begun and takes in what has ended.
func (d *driver) perform() {
	todo := d.todo
	d.todo = d.todo[:0]
	if d.ctx.Err() != nil {
		// Cancelled while the log was written: what has begun there and nowhere
		// else must not run any more.
		for _, w := range todo {
			d.leave(w)
		}
		todo = nil
	}
	if len(todo) == 1 && d.running.n == 1 && todo[0].request != nil {
		d.runInline(todo[0])
		return
	}
	for _, w := range todo {
		d.launch(w)
	}
	d.takeIn()
}

// runInline calls the model on the driver's own goroutine: nothing else runs, so
// its deltas go to the reader without a channel between.
func (d *driver) runInline(w *work) {
	if d.sendLive == nil {
		d.sendLive = func(b event.Body) bool {
			e := &d.inline
			d.live++
			e.N, e.Time, e.Body = d.live, time.Now(), b
			d.send(*e)
			return !d.broken
		}
	}
	d.inline = event.Event{}
	d.head(&d.inline.Header, w.scope, w.step, w.attempt)
	d.inline.Epoch = d.lease.Epoch
	runModel(d.ctx, w, &d.asm, d.sendLive)
	d.now = w.begun.Add(w.answer.took)
	d.settleModel(w)
	if w == &d.model.work {
		d.model = modelWork{}
	}
}

// settle folds the end of a step, unless the step was left behind.
func (d *driver) settle(w *work) bool {
	i := slices.Index(d.flights, w)
	if i < 0 {
		return false
	}
	d.flights = slices.Delete(d.flights, i, i+1)
	d.launchNext()
	if w.request != nil {
		d.settleModel(w)
	} else {
		d.settleTool(w)
	}
	return true
}

func (d *driver) settleTool(w *work) {
	end := &w.end
	d.running.n--
	w.entry.by = nil
	c := w.call
	c.close()
	if len(c.asked) > 0 {
		for i := range c.asked {
			d.add(w.scope, w.step, w.attempt, &c.asked[i])
		}
		return
	}
	if changed := stateChange(c.writes); changed != nil {
		d.add(w.scope, w.step, w.attempt, changed)
	}
	ended := &toolEnded{}
	err := end.result(c, w.agent.limits.ResultBytes, &ended.result)
	outcome := event.OutcomeDone
	if d.ctx.Err() != nil && errors.Is(end.err, d.ctx.Err()) {
		outcome = event.OutcomeCancelled
	}
	if err != nil && end.panics != "" {
		err.Err = errors.New(end.panics)
	}
	ended.StepEnded = event.StepEnded{
		Step: event.StepTool, Outcome: outcome, Result: &ended.result, Err: err, EndTurn: c.endTurn, Duration: end.took,
	}
	d.add(w.scope, w.step, w.attempt, &ended.StepEnded)
}

// toolEnded is the end of a tool call and its result in one piece of memory.
type toolEnded struct {
	event.StepEnded
	result event.ToolResult
}

// settleModel folds the end of a model call: its message, or its failure with
// the time of the next attempt, which is decided here once and written.
func (d *driver) settleModel(w *work) {
	end := w.answer
	d.running.n--
	w.scope.model.by = nil
	if end.message != nil {
		if w.scope.depth == 0 {
			d.partial = nil
		}
		d.add(w.scope, w.step, w.attempt, end.message)
		return
	}
	failed := &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, Usage: end.usage, UsageUnknown: !end.known, Duration: end.took,
	}
	failed.Err = modelError(w.agent.model.Info().Name, end.err)
	if end.panics != "" {
		failed.Err.Err = errors.New(end.panics)
	}
	switch {
	case d.ctx.Err() != nil:
		failed.Outcome = event.OutcomeCancelled
	case failed.Err.Kind.Info().Retry && failed.Err.Kind != event.ErrTimeout && w.attempt < w.agent.retry.Attempts:
		failed.RetryAt = d.now.Add(w.agent.retry.wait(w.attempt, failed.Err.RetryAfter))
	}
	if w.scope.depth == 0 {
		d.partial = end.partial
	}
	d.add(w.scope, w.step, w.attempt, failed)
}

// wait is how long to wait after attempt number n has failed.
func (r *Retry) wait(n int, asked time.Duration) time.Duration {
	w := r.Base
	for i := 1; i < n && w < r.Max; i++ {
		w *= 2
	}
	w = min(w, r.Max)
	if !r.Exact && w > 1 {
		w -= rand.N(w / 2) //nolint:gosec // jitter needs no secrecy
	}
	return max(w, asked)
}

// stateChange splits what a call wrote into values and removals.
func stateChange(writes map[string]json.RawMessage) *event.StateChanged {
	if len(writes) == 0 {
		return nil
	}
	b := &event.StateChanged{}
	for k, v := range writes {
		if v == nil {
			b.Delete = append(b.Delete, k)
			continue
		}
		if b.Set == nil {
			b.Set = make(map[string]json.RawMessage, len(writes))
		}
		b.Set[k] = v
	}
	slices.Sort(b.Delete)
	return b
}
