package braid

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// beginModel begins the scope's next model call, or the next attempt of the
// one that failed.
//
// It reports whether the scope moved, which it does not where the run is to stop.
func (d *driver) beginModel(s *fold.Scope, agent *Agent, why event.Why) bool {
	attempt := 1
	if again(why) {
		attempt = s.Model.Attempt + 1
	}
	model := agent.named(s.LastModel)
	if why == event.WhyFallback {
		model = agent.named(s.Model.Fallback)
	}
	info := model.Info()
	cycle := s.Cycle
	if attempt == 1 {
		cycle++
	}
	step := fold.StepName(s.ID, 'm', cycle, 0)
	offered := agent.current()
	shown, names := d.allowed(s, agent.shown(s, d.thread(s), offered), offered.names)
	shown, names = offered.told(info.Name, shown, names)
	// A model call on the driver's own goroutine is over before the next one
	// begins, so one piece of memory serves them all.
	w := d.model
	if w.addressee != nil || d.running > 0 {
		w = &modelWork{}
	}
	// One by one: a literal would be made elsewhere, and copied.
	w.scope, w.agent, w.step, w.attempt, w.begun = s, agent, step, attempt, d.now
	w.whom.model, w.whom.info, w.addressee = model, info, &w.whom
	w.own.Instructions, w.own.Messages, w.own.Tools = agent.instructions, s.Transcript.Shared(), shown
	w.own.Run, w.own.Scope, w.own.Cycle, w.own.Attempt = d.row.ID, s.ID, cycle, attempt
	w.own.Options = agent.asks(model)
	forced := why == event.WhyAnswer || again(why) && s.Forced
	d.answerOf(s).ask(&w.own, model, &info, forced)
	begun := &event.StepBegun{Step: event.StepModel, Why: why, Model: info.Name}
	if !sameNames(names, s.Tools) {
		begun.Tools = names
		if names == nil {
			begun.Tools = []string{} // none any more
		}
	}
	was := asIs{}
	asked := len(agent.hooks.on(pointBeforeModel)) > 0
	if asked {
		was = requestAsIs(&w.own)
		words, ok, waits, err := d.askModel(agent, why, w, forced)
		if !ok {
			d.held = d.held || !waits
			w.free()
			return waits
		}
		if w.info.Name != info.Name {
			begun.Runs = w.info.Name
			offered.untold(&w.own, w.info.Name)
		}
		if err != nil || words != "" {
			d.addAt(s, cycle, step, attempt, begun)
			d.thread(s).offered = offered
			d.answered(s, agent, w, words, err)
			w.free()
			return true
		}
		w.begun = d.now
	}
	if w.info.Setups && (!asked || was.kept(&w.own)) {
		d.setUp(s, cycle, &w.own)
	}
	d.addAt(s, cycle, step, attempt, begun)
	d.thread(s).offered = offered
	d.runs(s, step)
	w.request, w.answer = &w.own, &w.end
	d.todo = append(d.todo, &w.work)
	return true
}

// beginTools begins calls. What can be answered without running anything (an
// unknown tool, arguments that are no JSON) is answered at once.
//
// hooked is what hooks decided of each call; nil for an agent without.
func (d *driver) beginTools(s *fold.Scope, agent *Agent, calls []*fold.Call, hooked []decided) {
	offered := d.offer(s, agent)
	for i, c := range calls {
		reconcile := c.Effect == event.EffectReconcilable && (c.State == fold.CallBegun || c.Extra().Failed)
		attempt := c.Attempt + 1
		tool := d.toolOf(s, offered, c.Name)
		var by *decided
		if hooked != nil {
			if by = &hooked[i]; by.own.waits() {
				d.park(s, c, attempt, by.own.questions.asked)
				continue
			}
			tool = by.tool
		}
		traits := traitsOf(tool)
		reconcile = reconcile && traits.Reconcile != nil
		begun := &event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: traits.Effect, Reconcile: reconcile,
		}
		d.add(s, c.Step, attempt, by.note(begun))
		if kind, text := refusal(agent, offered, tool, c, by); text != "" {
			d.refuse(s, c, by, kind, text)
			continue
		}
		if by != nil && by.notice != nil {
			d.add(s, c.Step, attempt, by.notice)
		}
		w := &toolWork{work: work{scope: s, entry: c, agent: agent, step: c.Step, attempt: attempt, begun: d.now}}
		w.end = &w.ended
		if by != nil {
			w.call = by.take()
		} else {
			w.call = &w.own
			d.callFor(w.call, s, c, attempt)
		}
		w.call.tool, w.call.traits, w.call.reconcile = tool, traits, reconcile
		d.lend(w.call, agent)
		switch {
		case traits.Timeout > 0:
			w.bound = traits.Timeout + max(d.agent.limits.Grace, 0)
		case agent.limits.ToolTime > 0:
			w.bound = agent.limits.ToolTime
		}
		d.runs(s, c.Step)
		d.todo = append(d.todo, &w.work)
	}
}

// refusal says why a call cannot be run at all.
func refusal(agent *Agent, offered *offer, tool Tool, c *fold.Call, by *decided) (event.ErrorKind, string) {
	switch {
	case by != nil && by.refused != "":
		return by.kind, "Error: " + by.refused
	case by != nil && by.args != nil && tool != nil:
		return "", ""
	case tool == nil:
		return event.ErrNotFound, "Error: there is no tool called " + quote(c.Name) + "; " + orTheyAreFound(agent, offered) + "."
	case c.Args == nil:
		return event.ErrInvalid, "Error: " + c.Fault + "."
	default:
		return "", ""
	}
}

// refuse ends a call that was begun and never ran. What hooks before it have set, and that
// they want the turn to end, counts all the same.
func (d *driver) refuse(s *fold.Scope, c *fold.Call, by *decided, kind event.ErrorKind, text string) {
	d.refuseFor(s, c, by, &event.Error{Kind: kind, Message: strings.TrimPrefix(text, "Error: ")})
}

// refuseFor is refuse with an error of its own.
func (d *driver) refuseFor(s *fold.Scope, c *fold.Call, by *decided, why *event.Error) {
	why.Op = "tool " + c.Name
	ended := &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, Err: why,
		Result: &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{Text: "Error: " + why.Message}}},
	}
	if by != nil {
		if changed := stateChange(by.own.writes); changed != nil {
			d.add(s, c.Step, c.Attempt, changed)
		}
		ended.EndTurn = by.own.endTurn
	}
	siftedBy := d.tellRefused(s, c, ended)
	d.add(s, c.Step, c.Attempt, ended)
	d.record(s, c.Step, c.Attempt, siftedBy)
}

// openScopes opens a child scope for each call of an agent. Nothing is called:
// the child's own Next does the rest.
func (d *driver) openScopes(s *fold.Scope, agent *Agent, calls []*fold.Call, hooked []decided) {
	for i, c := range calls {
		child := d.offer(s, agent).child(c.Name)
		var by *decided
		if hooked != nil {
			by = &hooked[i]
			if _, same := by.tool.(*agentTool); !same || by.own.waits() || by.refused != "" {
				d.beginTools(s, agent, calls[i:i+1], hooked[i:i+1]) // it opens no scope
				continue
			}
		}
		d.add(s, c.Step, c.Attempt+1, by.note(&event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectIdempotent,
		}))
		input, text := agentInput(by.arguments(c))
		if by != nil {
			if changed := stateChange(by.own.writes); changed != nil {
				d.add(s, c.Step, c.Attempt, changed)
			}
			if by.notice != nil {
				d.add(s, c.Step, c.Attempt, by.notice)
			}
		}
		if text != "" {
			d.refuse(s, c, nil, event.ErrInvalid, text)
			continue
		}
		if over := d.tooMany(s); over != nil {
			d.refuseFor(s, c, nil, over)
			continue
		}
		input, siftedBy, err := d.siftBlocks(d.guardsOf(child.agent, GuardInput), input)
		if err != nil {
			d.refuseFor(s, c, nil, hookError(err))
			continue
		}
		d.add(s, c.Step, c.Attempt, &event.ScopeOpened{
			ID: c.Step, Parent: s.ID, Call: c.ID, Agent: child.agent.name, Depth: s.Depth + 1, Input: input,
		})
		d.record(s, c.Step, c.Attempt, siftedBy)
	}
}

// beginCalls begins tools or agents, after the hooks before them. It reports whether
// the scope moved.
func (d *driver) beginCalls(s *fold.Scope, agent *Agent, cmd command) bool {
	calls, begin := cmd.calls, d.beginTools
	if cmd.Do == doScopes {
		begin = d.openScopes
	}
	var hooked []decided
	if h := agent.hooks; len(h.on(pointBeforeTools))+len(h.on(pointBeforeTool)) > 0 || d.restrained(s, calls) {
		var ok bool
		if calls, hooked, ok = d.askBefore(s, agent, calls); !ok {
			d.held = true
			return false
		}
	}
	begin(s, agent, calls, hooked)
	return true
}
