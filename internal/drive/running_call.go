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

	tool tool.Tool
	// special are the tool's traits; nil where only its effect differs from none, as for most tools.
	special   *tool.Traits
	box       *fold.State
	questions asker
	news      callNews
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
	// guards are the guardrails that look at the result.
	guards []guardrail.Rule
	// extra is nil while there is nothing of it.
	extra *callExtra
	did   callEffects
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

// callExtra is what most calls have nothing of. It lies apart: 10 tool cycles take 1.1 KB less (row b of the bench).
type callExtra struct {
	// guardedBy names the guardrails that have taken something out of the result.
	guardedBy []string
	// progress is the end of the call's last news, while the run has secrets.
	progress string
	// ended is closed when the call ends; nil while no news was under way. News that nobody takes any more waits for it.
	ended chan struct{}
	// timeout is closed when the tool's own time is over; nil without one.
	timeout <-chan struct{}
	// reading is set for the tool that reads off-loaded results.
	reading *reading
	// said is what a function of a flow has said.
	said callSaid
	// files are what the call did to the files of a workspace.
	files []event.FileChange
	// moreFiles counts those for which there is no room.
	moreFiles int
	// saved are the artifacts that the call has saved.
	saved []*event.ArtifactSaved
}

// traits returns what the tool says of itself, beside its effect.
func (c *runningCall) traits() *tool.Traits {
	if c.special == nil {
		return &noTraits
	}
	return c.special
}

var noTraits tool.Traits

// more returns the call's extra, and makes it at the first use. The caller holds mu.
func (c *runningCall) more() *callExtra {
	if c.extra == nil {
		c.extra = &callExtra{}
	}
	return c.extra
}

// readsResults gives the call what it needs to read off-loaded results.
func (c *runningCall) readsResults(r *reading) {
	c.mu.Lock()
	c.more().reading = r
	c.mu.Unlock()
}

// reading returns what the call needs to read off-loaded results; nil for other tools.
func (c *runningCall) reading() *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.extra == nil {
		return nil
	}
	return c.extra.reading
}

// guardedBy names the guardrails that have taken something out of the result.
func (c *runningCall) guardedBy() []string {
	c.mu.Lock() // progress that is late may still make extra
	defer c.mu.Unlock()
	if c.extra == nil {
		return nil
	}
	return c.extra.guardedBy
}

// files returns what the call did to the files of a workspace, and counts what the list lacks.
func (c *runningCall) files() (list []event.FileChange, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.extra == nil {
		return nil, 0
	}
	return c.extra.files, c.extra.moreFiles
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

// AskedBefore implements [tool.AskedBefore].
func (c *runningCall) AskedBefore() []string { return c.questions.AskedBefore() }

// Progress implements [tool.Host]. It waits until the reader has taken the news, the call has ended or the run is to stop.
func (c *runningCall) Progress(b *event.ToolProgress) {
	ended, timeout, guards := c.reports()
	if ended == nil {
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
	taken := make(chan struct{})
	select {
	case c.news.arrivals <- Arrival{call: c, Live: b, taken: taken}:
	case <-ended:
		return
	case <-timeout:
		return
	case <-c.news.quit:
		return
	case <-c.Done():
		return
	}
	select {
	case <-taken:
	case <-ended:
	case <-timeout:
	case <-c.news.quit:
	case <-c.Done():
	}
}

// times sets the channel that is closed when the tool's own time is over.
func (c *runningCall) times(out <-chan struct{}) {
	c.mu.Lock()
	c.more().timeout = out
	c.mu.Unlock()
}

// reports returns what ends the wait for the reader of the call's news, and the guardrails for them. The first is nil if
// nobody takes news: the call has ended, or a hook stands where its tool does not run.
func (c *runningCall) reports() (ended, timeout <-chan struct{}, guards []guardrail.Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.news.arrivals == nil {
		return nil, nil, nil
	}
	extra := c.more()
	if extra.ended == nil {
		extra.ended = make(chan struct{})
	}
	return extra.ended, extra.timeout, c.guards
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

// mostSaved bounds how many artifacts one call reports.
const mostSaved = 1000

// ArtifactSaved implements [tool.Host].
func (c *runningCall) ArtifactSaved(b *event.ArtifactSaved) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && len(c.more().saved) < mostSaved {
		c.extra.saved = append(c.extra.saved, b)
	}
}

// saved returns the artifacts that the call has saved since it was asked last.
func (c *runningCall) saved() (list []*event.ArtifactSaved) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.extra != nil {
		list, c.extra.saved = c.extra.saved, nil
	}
	return list
}

// FilesChanged implements [tool.Host].
func (c *runningCall) FilesChanged(list []event.FileChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(list) == 0 {
		return
	}
	extra := c.more()
	room := min(event.MaxFileChanges-len(extra.files), len(list))
	extra.files = append(extra.files, list[:room]...)
	extra.moreFiles += len(list) - room
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
	if !c.closed && c.extra != nil && c.extra.ended != nil {
		close(c.extra.ended)
	}
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
			extra := c.more()
			text, extra.progress = m.Behind(extra.progress, text)
		}
	}
	return text
}
