package drive

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

	tool      tool.Tool
	traits    tool.Traits
	box       *fold.State
	questions asker
	// reading is set for the tool that reads off-loaded results.
	reading *reading
	news    callNews
	// secrets are the run's.
	secrets map[string]secret.Secret
	// reconcile says that the outside is to be asked first what became of an earlier attempt.
	reconcile bool

	// mu guards what follows. After the call has ended the driver reads it without.
	mu sync.Mutex
	// closed says that the call has ended: nothing changes any more.
	closed bool
	// consent is nil where nobody was asked about the call.
	consent *callConsent
	guard   callGuard
	did     callEffects
}

// callNews is where a call's progress goes.
type callNews struct {
	// arrivals takes the progress, until quit is closed.
	arrivals chan<- Arrival
	quit     <-chan struct{}
	// baton is set for a call that runs alone, at this place. Progress gives the driving back, because the goroutine that
	// drives cannot take it in while it runs the tool.
	baton *baton
	at    int64
}

// callConsent says who lets a call run.
type callConsent struct {
	// permits are the answers to what policies have asked about the call. mu does not guard them.
	permits []*fold.Ask
	// approval is the answer that lets the call run.
	approval *event.Approval
	// by is who gave approval.
	by string
}

// callGuard is what guardrails look at in a call, and what they did.
type callGuard struct {
	// rules look at the result.
	rules []guardrail.Rule
	// found is nil while there was nothing to take out.
	found *callFound
}

// callFound is what guardrails found in a call. It lies apart because most calls have none of it: 10 tool cycles take
// 1.1 KB less (row b of the bench).
type callFound struct {
	// by names the guardrails that have taken something out of the result.
	by []string
	// progress is the end of the call's last news, while the run has secrets.
	progress string
}

// seen returns what guardrails found. It makes the memory for that at the first use.
func (g *callGuard) seen() *callFound {
	if g.found == nil {
		g.found = &callFound{}
	}
	return g.found
}

// guardedBy names the guardrails that have taken something out of the result.
func (c *runningCall) guardedBy() []string {
	c.mu.Lock() // progress that is late may still make found
	defer c.mu.Unlock()
	if c.guard.found == nil {
		return nil
	}
	return c.guard.found.by
}

// permits returns the answers to what policies have asked about the call.
func (c *runningCall) permits() []*fold.Ask {
	if c.consent == nil {
		return nil
	}
	return c.consent.permits
}

// callEffects is what a call changes beside its result.
type callEffects struct {
	// writes are the values that the call has set; nil deletes.
	writes map[string]json.RawMessage
	// updates are the changes among writes that depend on the value before them.
	updates []stateUpdate
	// found are the tools that the call has found; see SearchTools in the root.
	found []string
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
	closed, guards := c.closed, c.guard.rules
	c.mu.Unlock()
	if closed || c.news.arrivals == nil { // a hook stands where nobody takes news
		return
	}
	if len(guards) > 0 {
		f := guardrail.New(c, guards)
		b = &event.ToolProgress{Call: b.Call, Tool: b.Tool, Text: f.Text(c.goesOn(guards, b.Text)), Data: f.JSON(b.Data)}
		if f.Err() != nil {
			return
		}
	}
	if c.news.baton != nil {
		c.news.baton.giveBack(c.news.at)
	}
	select {
	case c.news.arrivals <- Arrival{call: c, Live: b}:
	case <-c.news.quit:
	case <-c.Done():
	}
}

// EndTurn implements [tool.Host].
func (c *runningCall) EndTurn() {
	c.mu.Lock()
	c.did.endTurn = c.did.endTurn || !c.closed
	c.mu.Unlock()
}

// ReturnDirect implements [tool.Host].
func (c *runningCall) ReturnDirect() {
	c.mu.Lock()
	c.did.returns = c.did.returns || !c.closed
	c.mu.Unlock()
}

// Approval implements [tool.Host].
func (c *runningCall) Approval() (a event.Approval, by string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.consent == nil || c.consent.approval == nil {
		return a, "", false
	}
	return *c.consent.approval, c.consent.by, true
}

// Secret implements [tool.Host].
func (c *runningCall) Secret(name string) secret.Secret { return c.secrets[name] }

// setFound keeps the names of tools that the call has found.
func (c *runningCall) setFound(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.did.found = names
	}
}

// waits reports whether the call has asked a question that has no answer yet.
func (c *runningCall) waits() bool { return c.questions.Waits() }

// close ends the call's influence: what a straggler does later changes nothing.
func (c *runningCall) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.questions.end(errAskedAfter)
}

// goesOn hides in a text of progress the rest of a secret that those before it have begun.
func (c *runningCall) goesOn(guards []guardrail.Rule, text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.secrets) == 0 {
		return text
	}
	for i := range guards {
		if m := guards[i].Mask; m != nil {
			found := c.guard.seen()
			text, found.progress = m.Behind(found.progress, text)
		}
	}
	return text
}
