package braid

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// BeforeTools is called before the tool calls of one answer begin, and not again for those that
// asked or are made again. [Ask] works in it: none of the calls begins before there is an
// answer, and then the hooks are called again from the first, and find it.
type BeforeTools struct {
	// Calls are what the model asked for, in request order: read only.
	Calls []*event.ToolCall
	// Cancel is writable: words here are the error result of every call, and none runs.
	Cancel string
}

// BeforeTool is called before each attempt of one tool call, also of an agent that is
// used as a tool, and also where the agent has no such tool. Its context is the call's,
// so that [Ask], [GetState], [SetState] and [EndTurn] work in it as in a tool: where a hook
// asks, the call waits as it does where a tool asks, and once there is an answer
// the hooks are called again from the first, and find it. Hooks and tool count their
// questions together. To end the turn after an agent has worked, say so in [AfterTool].
type BeforeTool struct {
	// Call says what the model asked for: read only.
	Call *Call
	// Args are what the tool is called with, Tool what is called; nil where the agent
	// has no tool of that name. Both are writable. What they become stands in the log
	// ([event.StepBegun]); the history that the model sees stays what it said. A tool
	// should be one that the agent has, because a driver that takes the run over finds it
	// by its name: where it finds none, the call is in doubt. An agent that is used as a
	// tool can be replaced, but not be put in a tool's place.
	Args json.RawMessage
	Tool Tool
	// Cancel is writable: words here are the call's error result, and the tool is not run.
	Cancel string
}

// AfterTool is called after a tool call has ended, well or not, also one that was
// cancelled by a hook or that could not begin. What it changes passes the agent's guardrails. It is not called for an attempt that asked, nor
// for a call whose driver died or whose tool was left behind. The context is the
// call's; where the run is to stop it lasts for the grace period. [Ask] gives an error.
//
// A call counts as running until its hooks are done: a driver that dies among them leaves an
// unsafe call in doubt.
type AfterTool struct {
	// Call says what was called, with the arguments it was called with: read only.
	Call *Call
	// Result is what the model is shown. It is never nil, and writable.
	Result *event.ToolResult
	// Err is why the call failed; nil where it did not.
	Err error
	// Duration is how long the tool ran.
	Duration time.Duration
	// Retry is writable: the result is dropped and the call made again, from the hooks
	// before it, at most 20 times in all. It has no effect on an agent that is used as a tool,
	// nor where the call was never run or the run is to stop.
	Retry bool
}

// AfterTools is called when all tool calls of one answer have ended, before the model is
// shown their results, and also where the run ends there. A driver that takes the
// run over calls it again where nothing has followed in the log.
type AfterTools struct {
	// Results are the results in request order: read only.
	Results []*event.ToolResult
	// EndTurn is writable: the loop ends here, and the model is not asked to sum up.
	EndTurn bool
}

func (*BeforeTools) point() hookPoint { return pointBeforeTools }
func (*BeforeTool) point() hookPoint  { return pointBeforeTool }
func (*AfterTool) point() hookPoint   { return pointAfterTool }
func (*AfterTools) point() hookPoint  { return pointAfterTools }

// decided is what hooks made of one call before it begins.
type decided struct {
	// own is what the hooks saw; the tool is run with it.
	own *Call
	// tool is what runs; args and runs are set where a hook changed them.
	tool Tool
	args json.RawMessage
	runs string
	// refused is why it does not run.
	refused string
	kind    event.ErrorKind
	// notice is what people are told besides.
	notice *event.Notice
	// logged says that the attempt before was in flight: the log decides.
	logged bool
}

// askBefore calls the hooks before a batch and before each of its calls. It gives the
// calls that are decided, which are all of the batch where that was cancelled, and none where a
// hook before the batch has asked a person. ok is false where the run is to stop: nothing
// begins then.
func (d *driver) askBefore(s *fold.Scope, agent *Agent, calls []*fold.Call) (_ []*fold.Call, list []decided, ok bool) {
	h := agent.hooks
	before := h.on(pointBeforeTool)
	var at *atThreshold
	back := d.decideAside(func() {
		words, kind := "", event.ErrPermission
		if len(h.on(pointBeforeTools)) > 0 && s.Untouched() {
			batch := BeforeTools{}
			for _, c := range s.Batch {
				batch.Calls = append(batch.Calls, c.ToolCall)
			}
			at = d.thresholdOf(s)
			err := callBefore(at, h.on(pointBeforeTools), &batch, func() bool { return batch.Cancel != "" || at.questions.waits() })
			at.questions.end(errAskedAfter)
			if at.questions.waits() {
				return
			}
			if words = validText(batch.Cancel); err != nil {
				e := hookError(err)
				words, kind = e.Message, e.Kind
			}
			if words != "" {
				calls = s.Batch
			}
		}
		offered := d.offer(s, agent)
		list = make([]decided, len(calls))
		for i, c := range calls {
			one := &list[i]
			one.own = &Call{}
			d.callFor(one.own, s, c, c.Attempt+1)
			one.tool = d.toolOf(s, offered, c.Name)
			switch {
			case c.State == fold.CallBegun:
				one.logged = true
				had := c.Extra()
				one.args, one.runs = had.Args, had.Runs
				if had.Runs != "" {
					one.tool = offered.tool(had.Runs)
				}
			case words != "":
				one.refused, one.kind = words, kind
			case len(before) > 0:
				one.ask(before)
			}
			d.permit(s, one)
		}
	})
	if !back {
		return nil, nil, false
	}
	if at != nil && d.shut(s, at) {
		return nil, nil, true
	}
	return calls, list, true
}

// ask calls the hooks before one call, and takes in what they decided.
func (o *decided) ask(before []hook) {
	c := o.own
	e := BeforeTool{Call: c, Args: slices.Clone(c.Args), Tool: o.tool}
	err := callBefore(c, before, &e, func() bool { return e.Cancel != "" || c.waits() })
	had := o.tool
	switch {
	case c.waits():
		return
	case err != nil:
		he := hookError(err)
		o.refused, o.kind = he.Message, he.Kind
		return
	case e.Cancel != "":
		o.refused, o.kind = validText(e.Cancel), event.ErrPermission
		return
	}
	if string(e.Args) != string(c.Args) {
		if err := strictjson.Check(e.Args, strictjson.DefaultDepth); err != nil {
			o.refused, o.kind = "a hook changed the arguments to what is no usable JSON: "+err.Error(), event.ErrInvalid
			return
		}
		o.args = e.Args
	}
	if isNil(e.Tool) || e.Tool == had {
		return
	}
	o.tool, o.runs = e.Tool, e.Tool.Spec().Name
	if _, nested := e.Tool.(*agentTool); nested || o.runs == "" {
		o.refused, o.kind = "a hook put something in the tool's place that cannot stand there", event.ErrInvalid
	}
	if o.runs == c.Name && had != nil {
		o.runs = "" // another tool of the same name: nothing that the log could tell
	}
}

// note adds what hooks decided of a call to the event that begins it.
func (o *decided) note(b *event.StepBegun) *event.StepBegun {
	if o == nil {
		return b
	}
	b.Args, b.Runs = o.args, o.runs
	if o.refused != "" {
		b.Effect = event.EffectPure // nothing happens
	}
	return b
}

// take gives the call that hooks have seen to the tool.
func (o *decided) take() *Call {
	if o.args != nil {
		o.own.Args = o.args
	}
	return o.own
}

// arguments gives a call with the arguments that hooks made of its own.
func (o *decided) arguments(c *fold.Call) *event.ToolCall {
	if o == nil || o.args == nil {
		return c.ToolCall
	}
	changed := *c.ToolCall
	changed.Args, changed.Fault = o.args, ""
	return &changed
}

// waits reports whether the call has asked something that is not answered.
func (c *Call) waits() bool { return c.questions.waits() }

// callFor fills in what a tool, and the hooks around it, see of a call.
func (d *driver) callFor(own *Call, s *fold.Scope, c *fold.Call, attempt int) {
	own.Context = d.ctx
	own.ID, own.Name, own.Args = c.ID, c.Name, c.Args
	own.Conversation, own.Run, own.Scope, own.Step = d.row.Conversation, d.row.ID, s.ID, c.Step
	own.Agent, own.Attempt = s.Agent, attempt
	own.box = d.view.State
	agent := d.agentOf(s.Agent)
	if agent == nil {
		agent = d.agent
	}
	if guards := d.guardsOf(agent, GuardResult); len(guards) > 0 {
		own.rarely().guards = guards
	}
	if len(d.secrets) > 0 {
		own.rarely().secrets = d.secrets
	}
	own.questions.of = own
	for _, q := range c.Extra().Questions {
		if q.Name == PermissionQuestion {
			more := own.rarely()
			more.permits = append(more.permits, q)
		} else {
			own.questions.answered = append(own.questions.answered, q)
		}
	}
	own.questions.others = len(own.rare().permits)
}

// park writes the questions that hooks asked before a call.
func (d *driver) park(s *fold.Scope, c *fold.Call, attempt int, asked []event.Asked) {
	d.add(s, c.Step, attempt, &event.StepBegun{Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectPure})
	d.addAsked(s, d.agentIn(s), c.Step, attempt, asked)
}

// tellAfter calls the hooks after a call that has run beside the driver.
func (w *work) tellAfter(whole context.Context, list []hook, grace time.Duration) {
	c, end := w.call, w.end
	made := &toolEnded{}
	err := end.result(c, w.agent.limits.ResultBytes, &made.result)
	c.Context = whole // that of the tool is over with its time-out
	made.result.Content = slices.Clone(made.result.Content)
	e := AfterTool{Call: c, Result: &made.result, Duration: end.took}
	if err != nil {
		e.Err = err
	}
	end.failure, end.again = tellEnd(c, list, &e, grace, w.agent.limits.ResultBytes, err)
	made.result = *e.Result
	end.failure = c.sift(&made.result, end.failure)
	end.made = made
}

// tellEnd calls the hooks after a call. It leaves a result that can be kept in e, and gives
// the error that stands beside it.
func tellEnd(c *Call, list []hook, e *AfterTool, grace time.Duration, limit int, err *event.Error) (failure *event.Error, again bool) {
	ctx, cancel := afterwards(c.Context, grace)
	defer cancel()
	c.questions.end(errAskedLate)
	inner := c.Context
	c.Context = ctx
	hookErr := callAfter(c, list, e)
	c.Context = inner
	if e.Result == nil {
		e.Result = &event.ToolResult{Content: []event.Block{&event.Text{Text: "done"}}}
	}
	if hookErr != nil {
		he := hookError(hookErr)
		text := "Error: " + he.Message + ". The tool itself had ended; it may have had its effect."
		e.Result = &event.ToolResult{IsError: true, Content: []event.Block{&event.Text{Text: text}}}
		e.Retry = false
		err = he
	}
	e.Result.Call, e.Result.Name = c.ID, c.Name
	if len(e.Result.Content) == 0 {
		e.Result.Content = []event.Block{&event.Text{Text: "done"}}
	}
	if bad := fit(c, limit, e.Result); bad != nil {
		return bad, false
	}
	if !e.Result.IsError {
		err = nil // a hook has made a result of a failure
	}
	return err, e.Retry
}

// tellRefused calls the hooks and the guardrails after such a call, and returns the guardrails that took
// something out.
func (d *driver) tellRefused(s *fold.Scope, c *fold.Call, end *event.StepEnded) []string {
	agent := d.agentIn(s)
	list := agent.hooks.on(pointAfterTool)
	guards := d.guardsOf(agent, GuardResult)
	if len(list)+len(guards) == 0 {
		return nil
	}
	own := &Call{}
	d.callFor(own, s, c, max(c.Attempt, 1))
	if len(list) > 0 {
		d.hooksRefused(list, own, s, c, end)
	}
	if len(guards) == 0 {
		return nil
	}
	result, failure := *end.Result, end.Err
	if !d.aside(func() { failure = own.sift(&result, failure) }) {
		failure = &event.Error{
			Op: "tool " + c.Name, Kind: event.ErrCancelled, Message: "the run was stopped before its guardrails had looked at the result",
		}
		end.Err = failure
		words := &event.Text{Text: "Error: " + failure.Message + "."}
		end.Result = &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{words}}
		return nil
	}
	end.Result, end.Err = &result, failure
	return own.rare().siftedBy
}

// hooksRefused calls the hooks after such a call. They may change how it ends.
func (d *driver) hooksRefused(list []hook, own *Call, s *fold.Scope, c *fold.Call, end *event.StepEnded) {
	agent := d.agentIn(s)
	shown := *end.Result
	shown.Content = slices.Clone(end.Result.Content)
	e := AfterTool{Call: own, Result: &shown}
	if end.Err != nil {
		e.Err = end.Err
	}
	var failure *event.Error
	back := d.aside(func() { failure, _ = tellEnd(own, list, &e, d.agent.limits.Grace, agent.limits.ResultBytes, end.Err) })
	own.close()
	if !back {
		return
	}
	if changed := stateChange(own.writes); changed != nil {
		d.add(s, c.Step, c.Attempt, changed)
	}
	end.Result, end.Err = e.Result, failure
	end.EndTurn, end.ReturnDirect = end.EndTurn || own.endTurn, own.returns
}

// tellBatch calls the hooks after a batch, once in each cycle. It reports whether one of
// them ends the turn.
func (d *driver) tellBatch(s *fold.Scope, agent *Agent) (ends bool) {
	list := agent.hooks.on(pointAfterTools)
	if len(list) == 0 || !d.batchDone(s) {
		return false
	}
	d.thread(s).told = s.Cycle
	e := AfterTools{}
	if n := len(s.Transcript.Messages); n > 0 {
		for _, b := range s.Transcript.Messages[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok {
				e.Results = append(e.Results, r)
			}
		}
	}
	var err error
	back := d.aside(func() {
		ctx, cancel := afterwards(d.ctx, d.agent.limits.Grace)
		defer cancel()
		err = callAfter(ctx, list, &e)
	})
	switch {
	case !back:
		return false
	case err != nil:
		d.broke(err)
		return false
	}
	return e.EndTurn
}
