package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// beginModel begins the scope's next model call, or the next attempt of one that failed. It reports whether the scope
// moved; it does not move where the run is to stop.
func (d *driver) beginModel(s *fold.Scope, agent *Agent, why event.Why) bool {
	if !s.Transcript.Whole() && !d.complete() {
		return false
	}
	attempt := 1
	if decide.Again(why) {
		attempt = s.Model.Attempt + 1
	}
	m := agent.named(s.LastModel)
	if why == event.WhyFallback {
		m = agent.named(s.Model.Fallback)
	}
	info := m.Info()
	cycle := s.Cycle
	if attempt == 1 {
		cycle++
	}
	step := fold.StepName(s.ID, 'm', cycle, 0)
	offered := agent.Current()
	shown, names := d.allowed(s, agent.shown(s, d.thread(s), offered), offered.Names)
	shown, names = offered.Told(info.Name, shown, names)
	w := d.exec.space.modelWork(m, &info)
	w.scope, w.agent, w.step, w.attempt, w.begun, w.ctx = s, agent, step, attempt, d.now, d.stepContext(s)
	// Every field is set, because the memory serves again. One by one: a copy of the whole costs write barriers.
	q := &w.request
	q.Instructions, q.Messages, q.Tools, q.Options = agent.Instructions, s.Messages(), shown, agent.Asks(m)
	q.ToolChoice, q.Output, q.Setups = agent.choice(s, cycle, shown), nil, nil
	q.Run, q.Scope, q.Cycle, q.Attempt = d.row.ID, s.ID, cycle, attempt
	forced := why == event.WhyAnswer || decide.Again(why) && s.Answer.Forced
	askFor(d.answerOf(s), &w.request, m, &info, forced)
	begun := &event.StepBegun{Step: event.StepModel, Why: why, Model: info.Name}
	if !toolset.SameNames(names, s.Tools.Names) {
		begun.Tools = names
		if names == nil {
			begun.Tools = []string{} // none any more
		}
	}
	was := asIs{}
	asked := len(agent.Hooks.At(hooks.BeforeModel)) > 0
	if asked {
		was = requestAsIs(&w.request)
		words, ok, waits, err := d.callBeforeModel(agent, why, w, forced)
		if !ok {
			d.pending.awaited = d.pending.awaited || !waits
			return waits
		}
		if w.info.Name != info.Name {
			begun.Runs = w.info.Name
			offered.Untell(&w.request, w.info.Name)
		}
		if err != nil || words != "" {
			d.addAt(s, cycle, step, attempt, begun)
			d.thread(s).offered = offered
			d.answered(s, agent, w, words, err)
			return true
		}
		w.begun = d.now
	}
	if w.info.Setups && (!asked || was.kept(&w.request)) {
		d.setUp(s, cycle, &w.request)
	}
	d.addAt(s, cycle, step, attempt, begun)
	d.thread(s).offered = offered
	d.runs(s, step)
	d.exec.todo = append(d.exec.todo, w)
	return true
}

// choice returns what the model must do with its tools. A choice that forces calls holds for the first model call of a
// run: it would keep the run from ever answering.
func (a *Agent) choice(s *fold.Scope, cycle int, shown []model.ToolSpec) model.ToolChoice {
	c := a.Choice
	if s.Depth > 0 {
		return model.ToolChoice{}
	}
	named := func(t model.ToolSpec) bool { return t.Name == c.Tool }
	if c.Mode != model.ToolsNone && (cycle > 1 || c.Tool != "" && !slices.ContainsFunc(shown, named)) {
		c.Mode, c.Tool = model.ToolsFree, ""
	}
	return c
}

// newCall prepares the next attempt of a call for the stages before it.
func (d *activeRun) newCall(s *fold.Scope, agent *Agent, c *fold.Call, decision *callDecision) *toolWork {
	w := newToolWork(s, agent, c, c.Attempt+1)
	w.decision = decision
	d.callFor(w.call, s, c, w.attempt)
	w.call.reconcile = c.Effect == event.EffectReconcilable && (c.State == fold.CallBegun || c.Extra().Failed)
	offered, had := d.offer(s, agent), c.Extra()
	w.call.tool = d.toolOf(s, offered, c.Name)
	if c.State == fold.CallBegun {
		w.decision.logged, w.decision.args, w.decision.runs = true, had.Args, had.Runs
		if had.Runs != "" {
			w.call.tool = offered.Tool(had.Runs)
		}
	}
	return w
}

// beginCalls begins the calls of tools and agents, after the stages before them. It reports whether the scope moved.
func (d *driver) beginCalls(s *fold.Scope, agent *Agent, calls []*fold.Call) bool {
	h := agent.Hooks
	if len(h.At(hooks.BeforeTools))+len(h.At(hooks.BeforeTool)) == 0 && !d.restrained(s, calls) {
		for _, c := range calls {
			w := d.newCall(s, agent, c, d.exec.space.newDecision())
			d.passBefore(w) // no foreign code is called
			d.beginCall(w)
		}
		return true
	}
	list, ok := d.callBeforeEachTool(s, agent, calls)
	if !ok {
		d.pending.awaited = true
		return false
	}
	for _, w := range list {
		d.beginCall(w)
	}
	return true
}

// beginCall begins a call that the stages before it have decided: it runs, opens a scope, is refused, or waits for an
// answer.
func (d *driver) beginCall(w *toolWork) {
	switch {
	case w.call.waits():
		d.park(w)
	case OpensScopes(w.call.tool) && w.decision.refused == nil:
		d.beginAgent(w, w.call.tool)
	default:
		d.beginTool(w)
	}
}

// beginTool begins a tool call, or ends it at once where it was refused.
func (d *driver) beginTool(w *toolWork) {
	s, c, p := w.scope, w.entry, w.decision
	var traits tool.Traits
	if w.call.tool != nil {
		traits = tool.TraitsOf(w.call.tool)
	}
	w.call.reconcile = w.call.reconcile && traits.Reconcile != nil
	d.add(s, w.step, w.attempt, p.note(c, &event.StepBegun{
		Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: traits.Effect, Reconcile: w.call.reconcile,
	}))
	if p.refused != nil {
		d.endRefused(w, p.refused)
		return
	}
	if p.notice != nil {
		d.add(s, w.step, w.attempt, p.notice)
	}
	if p.args != nil {
		w.call.Args = p.args
	}
	w.begun = d.now
	if traits.Timeout > 0 || traits.Parallel > 0 || traits.Retry.Attempts > 0 || traits.Reconcile != nil {
		w.call.special = new(traits)
	}
	d.lend(w.call, s, w.agent)
	switch {
	case traits.Timeout > 0:
		w.bound = traits.Timeout + max(d.cfg.agent.Limits.Grace, 0)
	case w.agent.Limits.ToolTime > 0:
		w.bound = w.agent.Limits.ToolTime
	}
	d.runs(s, w.step)
	d.exec.todo = append(d.exec.todo, &w.Work)
}

// park writes the questions that hooks or policies asked before a call. The call waits for their answers.
func (d *activeRun) park(w *toolWork) {
	d.add(w.scope, w.step, w.attempt, &event.StepBegun{
		Step: event.StepTool, Call: w.call.ID, Tool: w.call.Name, Effect: event.EffectPure,
		Args: w.entry.Args,
	})
	d.addAsked(w.scope, w.agent, w.step, w.attempt, w.call.questions.pending())
}

// callBeforeEachTool calls the hooks before a batch and passes its calls through the stages before each call. It returns the
// decided calls: all calls if a hook cancelled the batch, and none if a hook before the batch asked a question. ok is
// false if the run is to stop; nothing begins then.
func (d *activeRun) callBeforeEachTool(s *fold.Scope, agent *Agent, calls []*fold.Call) (list []*toolWork, ok bool) {
	var at *hookContext
	back := d.runDecidingHooks(func() {
		var refused *event.Error
		cancelled := false
		if len(agent.Hooks.At(hooks.BeforeTools)) > 0 && s.Untouched() {
			at = d.hookContextOf(s)
			if refused, cancelled = askBatch(at, agent.Hooks.At(hooks.BeforeTools), s.Batch.Calls); at.questions.Waits() {
				return
			}
			if refused != nil {
				calls = s.Batch.Calls
			}
		}
		for _, c := range calls {
			w := d.newCall(s, agent, c, &callDecision{})
			if refused != nil && !w.decision.logged {
				w.decision.refuse(refused.Kind, refused.Message)
				w.decision.cancelled = cancelled
			}
			d.passBefore(w)
			list = append(list, w)
		}
	})
	if !back {
		return nil, false
	}
	if at != nil && d.parkForHooks(s, at) {
		return nil, true
	}
	return list, true
}

// complete is [Handle.complete] for the driver's view. If it fails, the view is folded again before the next decision.
func (d *activeRun) complete() bool {
	if d.lease.conv.complete(d.lease.base, d.view) {
		return true
	}
	d.view.Stale, d.pending.awaited = true, true
	return false
}
