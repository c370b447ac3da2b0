package braid

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// runningCall is a tool call that this driver runs. It is the [tool.Host] of the call that its tool gets.
type runningCall struct {
	tool.Call

	tool      Tool
	traits    tool.Traits
	box       *fold.State
	questions asker
	// reading is set for the tool that reads off-loaded results.
	reading *reading
	// arrivals takes the call's progress, until quit is closed.
	arrivals chan<- arrival
	quit     <-chan struct{}
	// secrets are the run's.
	secrets map[string]secret.Secret
	// permits are the answers to what policies have asked about the call.
	permits []*fold.Ask
	// reconcile says that the outside is to be asked first what became of an earlier attempt.
	reconcile bool

	// mu guards what follows. After the call has ended the driver reads it without.
	mu sync.Mutex
	// closed says that the call has ended: nothing changes any more.
	closed bool
	// writes are the values that the call has set; nil deletes.
	writes map[string]json.RawMessage
	// updates are the changes among writes that depend on the value before them.
	updates []stateUpdate
	// guards look at the result.
	guards []guardrail.Rule
	// guardedBy names the guardrails that have taken something out of the result.
	guardedBy []string
	// approval is the answer that lets the call run.
	approval *event.Approval
	// approvedBy is who gave approval.
	approvedBy string
	// found are the tools that the call has found; see [SearchTools].
	found []string
	// progress is the end of the call's last news, while the run has secrets.
	progress string
	// endTurn says that the loop stops after this batch.
	endTurn bool
	// returns says that the result is to be the agent's answer.
	returns bool
}

var _ tool.Host = (*runningCall)(nil)

// runningCallOf returns the driver's side of a tool's context; nil outside a run.
func runningCallOf(ctx context.Context) *runningCall {
	if c := tool.CallOf(ctx); c != nil {
		own, _ := c.Host().(*runningCall)
		return own
	}
	return nil
}

// Ask implements [tool.Host].
func (c *runningCall) Ask(q *event.Asked) (json.RawMessage, error) { return c.questions.Ask(q) }

// AnsweredBy implements [tool.Host].
func (c *runningCall) AnsweredBy(index int) string { return c.questions.AnsweredBy(index) }

// Progress implements [tool.Host].
func (c *runningCall) Progress(b *event.ToolProgress) {
	c.mu.Lock()
	closed, guards := c.closed, c.guards
	c.mu.Unlock()
	if closed || c.arrivals == nil { // a hook stands where nobody takes news
		return
	}
	if len(guards) > 0 {
		f := guardrail.New(c, guards)
		b = &event.ToolProgress{Call: b.Call, Tool: b.Tool, Text: f.Text(c.goesOn(guards, b.Text)), Data: f.JSON(b.Data)}
		if f.Err() != nil {
			return
		}
	}
	select {
	case c.arrivals <- arrival{call: c, live: b}:
	case <-c.quit:
	case <-c.Done():
	}
}

// EndTurn implements [tool.Host].
func (c *runningCall) EndTurn() {
	c.mu.Lock()
	c.endTurn = c.endTurn || !c.closed
	c.mu.Unlock()
}

// ReturnDirect implements [tool.Host].
func (c *runningCall) ReturnDirect() {
	c.mu.Lock()
	c.returns = c.returns || !c.closed
	c.mu.Unlock()
}

// Approval implements [tool.Host].
func (c *runningCall) Approval() (a event.Approval, by string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.approval == nil {
		return a, "", false
	}
	return *c.approval, c.approvedBy, true
}

// Secret implements [tool.Host].
func (c *runningCall) Secret(name string) secret.Secret { return c.secrets[name] }

// setFound keeps the names of tools that the call has found.
func (c *runningCall) setFound(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.found = names
	}
}

// waits reports whether the call has asked a question that has no answer yet.
func (c *runningCall) waits() bool { return c.questions.waits() }

// close ends the call's influence: what a straggler does later changes nothing.
func (c *runningCall) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.questions.end(errAskedAfter)
}
