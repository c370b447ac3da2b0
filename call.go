package braid

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/secret"
)

// Call is the running tool call. It is the context that the tool gets: values,
// deadline and cancellation of the caller's context reach the tool through it.
type Call struct {
	context.Context //nolint:containedctx // a call is a context

	// ID is the model's id of the call, the same in every attempt.
	ID   string
	Name string
	// Args is what the model sent.
	Args json.RawMessage
	// Conversation, Run, Scope and Step say where the call stands, Agent who
	// asked for it.
	Conversation string
	Run          string
	Scope        string
	Step         string
	Agent        string
	// Attempt counts the tries, from 1: a call that asked, or was in flight when
	// its driver died, begins anew.
	Attempt int

	tool      Tool
	traits    *Traits
	box       *fold.State
	reading   *reading
	arrivals  chan<- arrival
	quit      <-chan struct{}
	questions asker

	mu     sync.Mutex
	writes map[string]json.RawMessage
	// more is what few calls have: every call pays for its own memory.
	more      *seldom
	reconcile bool
	endTurn   bool
	// returns says that the result is to be the agent's answer.
	returns bool
	closed  bool
}

// seldom is what few calls have.
type seldom struct {
	// guards look at the result; guardedBy are the names of those that have taken something out of it.
	guards    []guardrail.Rule
	guardedBy []string
	// permits are the answers to what policies have asked for the call; approval is that
	// which lets it run, approvedBy whose it is.
	permits    []*fold.Ask
	approval   *event.Approval
	approvedBy string
	// updates are the changes of the state that depend on what it was, found the tools that the
	// call has found; see [SearchTools].
	updates []stateUpdate
	found   []string
	// secrets are the run's, and progress is what the call has said last where the run has some.
	secrets  map[string]secret.Secret
	progress string
}

// rare gives what few calls have, to read. Where the call's tool may run, mu is held.
func (c *Call) rare() *seldom {
	if c.more == nil {
		return &seldom{}
	}
	return c.more
}

// rarely is rare to write.
func (c *Call) rarely() *seldom {
	if c.more == nil {
		c.more = &seldom{}
	}
	return c.more
}

type callKey struct{}

// Value implements context.Context.
func (c *Call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case askerKey:
		return &c.questions
	}
	return c.Context.Value(key)
}

// CallOf finds the running tool call in a tool's context; nil outside a tool.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Key names the call across conversations and attempts. Pass it on as the
// idempotency key of whatever the tool does to the world.
func (c *Call) Key() string {
	return c.Conversation + "/" + c.Run + "/" + c.Step
}

// Progress tells the watchers of a run how a tool is getting on. It does
// nothing outside a tool, and after the call has ended. It waits until the
// run has taken the news, so that nothing piles up.
func Progress(ctx context.Context, text string) {
	if c := CallOf(ctx); c != nil {
		c.progress(&event.ToolProgress{Call: c.ID, Tool: c.Name, Text: strings.ToValidUTF8(text, "\uFFFD")})
	}
}

// ProgressData is [Progress] for programs: data is sent as JSON. What cannot be
// written as JSON is not sent.
func ProgressData(ctx context.Context, data any) {
	c := CallOf(ctx)
	if c == nil {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return
	}
	c.progress(&event.ToolProgress{Call: c.ID, Tool: c.Name, Data: raw})
}

func (c *Call) progress(b *event.ToolProgress) {
	c.mu.Lock()
	closed, guards := c.closed, c.rare().guards
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

// EndTurn stops the loop after this batch of tools: the results are in the
// history, and the model is not asked to sum them up.
func EndTurn(ctx context.Context) {
	if c := CallOf(ctx); c != nil {
		c.mu.Lock()
		c.endTurn = c.endTurn || !c.closed
		c.mu.Unlock()
	}
}

// ReturnDirect makes the call's result the agent's answer: after this batch of tools the
// loop stops with it, as if the model had said it, and no model is called. Where several calls
// of one answer ask for it the first of them counts, in the order in which the model asked.
// The answer is the result's text, or its JSON where it has none. A call that fails is
// shown to the model as ever. In a hook after a tool it does the same for tools of others.
func ReturnDirect(ctx context.Context) {
	if c := CallOf(ctx); c != nil {
		c.mu.Lock()
		c.returns = c.returns || !c.closed
		c.mu.Unlock()
	}
}

func (c *Call) state(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	v, ok := c.writes[key]
	c.mu.Unlock()
	if ok {
		return v, v != nil
	}
	return c.box.Get(key)
}

func (c *Call) setState(key string, v json.RawMessage) {
	if fold.IsTemp(key) {
		c.box.SetTemp(key, v)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.writes == nil {
		c.writes = make(map[string]json.RawMessage)
	}
	c.writes[key] = v
	if c.more != nil {
		c.more.updates = slices.DeleteFunc(c.more.updates, func(u stateUpdate) bool { return u.key == key })
	}
}

// close ends the call's influence: what a straggler does later changes nothing.
func (c *Call) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.questions.end(errAskedAfter)
}
