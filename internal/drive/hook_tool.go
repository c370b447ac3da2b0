package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// askBatch calls the hooks before a batch. It returns why none of the calls may run; nil where they may, or where a
// hook has asked a question. cancelled says that a hook has cancelled them.
func askBatch(at *hookContext, list []hooks.Hook, calls []*fold.Call) (why *event.Error, cancelled bool) {
	batch := hook.BeforeTools{}
	for _, c := range calls {
		batch.Calls = append(batch.Calls, c.ToolCall)
	}
	err := hooks.CallAsking(at, list, &batch, &at.questions, func() bool { return batch.Cancel != "" })
	at.questions.end(errAskedAfter)
	switch words := validText(batch.Cancel); {
	case at.questions.Waits():
		return nil, false
	case err != nil:
		return hookError(err), false
	case words != "":
		return &event.Error{Kind: event.ErrPermission, Message: words}, true
	default:
		return nil, false
	}
}

// callBeforeHooks is the stage of the hooks before a call.
func (d *activeRun) callBeforeHooks(w *toolWork) {
	list, c, p := w.agent.Hooks.At(hooks.BeforeTool), w.call, w.decision
	if len(list) == 0 || p.logged || p.refused != nil {
		return
	}
	e := hook.BeforeTool{Call: &c.Call, Args: slices.Clone(c.Args), Tool: c.tool}
	err := hooks.CallAsking(c, list, &e, &c.questions, func() bool { return e.Cancel != "" })
	c.questions.Turn(0) // from now on the tool asks
	switch {
	case c.waits():
		return
	case err != nil:
		he := hookError(err)
		p.refuse(he.Kind, he.Message)
		return
	case e.Cancel != "":
		p.cancel(validText(e.Cancel))
		return
	}
	if string(e.Args) != string(c.Args) {
		if err := strictjson.Check(e.Args, strictjson.DefaultDepth); err != nil {
			p.refuse(event.ErrInvalid, "a hook changed the arguments to what is no usable JSON: "+err.Error())
			return
		}
		p.args = e.Args
	}
	p.replace(c, e.Tool)
}

// replace puts a hook's tool in the place of the one that the model called by name.
func (p *callDecision) replace(c *runningCall, tool tool.Tool) {
	had := c.tool
	if foreign.IsNil(tool) || tool == had {
		return
	}
	c.tool, p.runs = tool, tool.Spec().Name
	if OpensScopes(tool) || p.runs == "" {
		p.refuse(event.ErrInvalid, "a hook put something in the tool's place that cannot stand there")
	}
	if p.runs == c.Name && had != nil {
		p.runs = "" // another tool of the same name: the log cannot tell them apart
	}
}

// callFor fills in what a tool and its hooks see of a call.
func (d *activeRun) callFor(own *runningCall, s *fold.Scope, c *fold.Call, attempt int) {
	own.Call = *tool.NewCall(d.contextOf(s), own, tool.Call{
		ID: c.ID, Name: c.Name, Args: c.Args, Conversation: d.row.Conversation, Run: d.row.ID, Scope: s.ID, Step: c.Step,
		Agent: s.Agent, Attempt: attempt,
	})
	own.box = d.view.State
	agent := d.agentOf(s.Agent)
	if agent == nil {
		agent = d.cfg.agent
	}
	own.guards = d.guardsOf(agent, guardrail.Result)
	own.secrets = d.cfg.secrets
	own.questions.of = own
	for _, q := range c.Extra().Questions {
		if q.Name == event.PermissionQuestion {
			if own.consent == nil {
				own.consent = &callConsent{}
			}
			own.consent.permits = append(own.consent.permits, q)
		} else {
			own.questions.remember(q)
		}
	}
}

// callAfterHooks is the stage of the hooks after a call. Their result is checked for size and by guardrails again.
func (d *activeRun) callAfterHooks(w *Work) {
	c, end := w.call, w.end
	list := w.agent.Hooks.At(hooks.AfterTool)
	if len(list) == 0 {
		return
	}
	c.questions.end(errAskedLate)
	r := end.made
	r.Content = slices.Clone(r.Content)
	ctx, cancel := afterwards(c.Context, d.cfg.agent.Limits.Grace)
	defer cancel()
	call := tool.NewCall(ctx, c, c.Call) // the tool may have left a goroutine that reads its own context
	e := hook.AfterTool{Call: call, Result: r, Duration: end.took, Cancelled: end.skip == skipRefused && end.outcome == event.OutcomeCancelled}
	if end.failure != nil {
		e.Err = end.failure
	}
	err := hooks.CallAfter(call, list, &e)
	end.again = e.Retry && err == nil
	end.takeChanged(c, e.Result, err)
	if bad := fit(c, w.agent.Limits.ResultBytes, r); bad != nil {
		end.failure, end.again = bad, false
	}
	d.guardResult(w)
}

// takeChanged takes in the result that hooks have left. err is the error of a hook.
func (e *toolEnd) takeChanged(c *runningCall, changed *event.ToolResult, err error) {
	r := e.made
	switch {
	case err != nil:
		e.failure = hookError(err)
		text := "Error: " + e.failure.Message + ". The tool itself had ended; it may have had its effect."
		*r = event.ToolResult{IsError: true, Content: []event.Block{&event.Text{Text: text}}}
	case changed == nil:
		*r = event.ToolResult{}
	default:
		*r = *changed
	}
	r.Call, r.Name = c.ID, c.Name
	if len(r.Content) == 0 {
		r.Content = []event.Block{&event.Text{Text: "done"}}
	}
	if !r.IsError {
		e.failure = nil // a hook has made a result of a failure
	}
}

// callAfterTools calls the hooks after a batch, once per cycle. It reports whether one of them ends the turn.
func (d *activeRun) callAfterTools(s *fold.Scope, agent *Agent) (ends bool) {
	list := agent.Hooks.At(hooks.AfterTools)
	if len(list) == 0 || !d.batchDone(s) {
		return false
	}
	d.thread(s).batchTold = s.Cycle
	e := hook.AfterTools{}
	if n := len(s.Transcript.Messages); n > 0 {
		for _, b := range s.Transcript.Messages[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok {
				e.Results = append(e.Results, r)
			}
		}
	}
	var err error
	back := d.runHooks(func() {
		ctx, cancel := afterwards(d.ctx, d.cfg.agent.Limits.Grace)
		defer cancel()
		err = hooks.CallAfter(ctx, list, &e)
	})
	switch {
	case !back:
		return false
	case err != nil:
		d.failWith(err)
		return false
	}
	return e.EndTurn
}
