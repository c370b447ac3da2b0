package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// toolWork is a tool call on its way through the stages before it. It has 696 bytes: 8 more would cost each call 64,
// because the runtime adds 8 of its own.
type toolWork struct {
	Work
	own   runningCall
	ended toolEnd
	// decision is what the stages before the call decide. It is not read once the call has begun.
	decision *callDecision
}

// newToolWork returns the work of an attempt of a call.
func newToolWork(s *fold.Scope, agent *Agent, c *fold.Call, attempt int) *toolWork {
	w := &toolWork{Work: Work{scope: s, entry: c, agent: agent, step: c.Step, attempt: attempt}}
	w.call, w.end = &w.own, &w.ended
	return w
}

// callDecision is what the stages before a call have decided of it.
type callDecision struct {
	// args are the arguments, where a hook or a user changed them.
	args json.RawMessage
	// runs names the tool, where a hook put another one in its place.
	runs string
	// refused is why the call does not run.
	refused *event.Error
	// notice is what users are told besides.
	notice *event.Notice
	// byPolicy says that a hook, a policy or a user refused the call.
	byPolicy bool
	// cancelled says that a hook did it: the model is shown the hook's text as it is.
	cancelled bool
	// logged says that the attempt before was in flight when its driver died: the log decides, and no question is asked again.
	logged bool
}

// refuse makes the call one that does not run.
func (p *callDecision) refuse(kind event.ErrorKind, message string) {
	p.refused, p.byPolicy = &event.Error{Kind: kind, Message: message}, true
}

// cancel makes the call one that a hook has cancelled.
func (p *callDecision) cancel(words string) {
	p.refuse(event.ErrPermission, words)
	p.cancelled = true
}

// note adds what the stages before a call have decided to the event that begins it.
func (p *callDecision) note(c *fold.Call, b *event.StepBegun) *event.StepBegun {
	b.Args, b.Runs = p.arguments(c).Args, p.runs
	if p.byPolicy {
		b.Effect = event.EffectPure // nothing happens
	}
	return b
}

// arguments returns the call with its changed arguments.
func (p *callDecision) arguments(c *fold.Call) *event.ToolCall {
	if p.args == nil {
		return c.ToolCall
	}
	changed := *c.ToolCall
	changed.Args, changed.Fault = p.args, ""
	return &changed
}
