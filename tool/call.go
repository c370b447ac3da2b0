package tool

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Call is the running tool call. It is the context that the tool gets: values,
// deadline and cancellation of the caller's context reach the tool through it.
type Call struct {
	context.Context //nolint:containedctx // a call is a context

	// ID is the model's id of the call, the same in every attempt.
	ID string
	// Name is the name that the model called.
	Name string
	// Args is what the model sent.
	Args json.RawMessage
	// Conversation is the id of the conversation that the call stands in.
	Conversation string
	// Run is the id of the run.
	Run string
	// Scope is the id of the scope of the agent that asked.
	Scope string
	// Step is the id of the step that the call is.
	Step string
	// Agent is the name of the agent that asked.
	Agent string
	// Attempt counts the tries, from 1: a call that asked, or was in flight when
	// its driver died, begins anew.
	Attempt int

	host Host
}

// NewCall returns a call that runs in ctx and asks host. The fields come from of, except for its context. It is for whoever
// runs tools: an agent loop, or a test. The call is the context with which to call the tool.
func NewCall(ctx context.Context, host Host, of Call) *Call {
	of.Context, of.host = ctx, host
	return &of
}

// Host returns who runs the call. It is for the tools of a loop's own, which know its type.
func (c *Call) Host() Host { return c.host }

type (
	callKey  struct{}
	askerKey struct{}
	stateKey struct{}
)

// Value implements context.Context.
func (c *Call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case askerKey:
		return Asker(c.host)
	case stateKey:
		return StateReader(c.host)
	}
	return c.Context.Value(key)
}

// CallOf returns the running tool call of a tool's context; nil outside a tool.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// NoCall returns the error of op in a context without a running call. A [Host] returns it from Ask after the call has
// ended.
func NoCall(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "there is no tool call in this context",
		Hint: "call it inside a tool, with the context that the tool was given",
	}
}

// Key names the call across conversations and attempts. Pass it on as the
// idempotency key of whatever the tool does to the world.
func (c *Call) Key() string {
	return c.Conversation + "/" + c.Run + "/" + c.Step
}

// Progress reports to the watchers of a run how a tool is getting on. It does
// nothing outside a tool, and after the call has ended. It returns once the
// reader of the run is done with the report, so that nothing piles up: the body
// of a Stream's loop has returned, or a run without a reader has taken it. It
// also returns when its context is done, when the tool's time is over, and when
// the call ends. It is safe for concurrent use. Do not call it from the reader.
func Progress(ctx context.Context, text string) {
	if c := CallOf(ctx); c != nil {
		c.host.Progress(&event.ToolProgress{Call: c.ID, Tool: c.Name, Text: strings.ToValidUTF8(text, "\uFFFD")})
	}
}

// ProgressData is [Progress] for programs: data is sent as JSON. Data that cannot be
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
	c.host.Progress(&event.ToolProgress{Call: c.ID, Tool: c.Name, Data: raw})
}

// EndTurn stops the loop after this batch of tools: the results are in the
// history, and the model is not asked to sum them up.
func EndTurn(ctx context.Context) {
	if c := CallOf(ctx); c != nil {
		c.host.EndTurn()
	}
}

// ReturnDirect makes the call's result the agent's answer: after this batch of tools the
// loop stops with it, as if the model had said it, and no model is called. If several calls
// of one answer ask for it, the first in the order in which the model asked counts.
// The answer is the result's text, or its JSON if it has none. A call that fails is
// shown to the model as ever. In a hook after a tool it does the same for tools of others.
func ReturnDirect(ctx context.Context) {
	if c := CallOf(ctx); c != nil {
		c.host.ReturnDirect()
	}
}

// FilesChanged reports what the call did to the files of a workspace. It counts also if the call fails afterwards. The end
// of the call lists it, and the end of the run lists what all its calls have reported. It does nothing outside a tool, and
// after the call has ended.
func FilesChanged(ctx context.Context, list ...event.FileChange) {
	if c := CallOf(ctx); c != nil {
		c.host.FilesChanged(list)
	}
}

// ArtifactSaved reports that the call has saved a version of an artifact: its bytes are stored. The log says so before the end
// of the call, in the same commit, also if the call fails afterwards. It does nothing outside a tool, and after the call has
// ended.
func ArtifactSaved(ctx context.Context, b event.ArtifactSaved) {
	if c := CallOf(ctx); c != nil {
		c.host.ArtifactSaved(&b)
	}
}

// ApprovalOf returns what a user said when a policy asked about the running call, and who it was.
// ok is false if nobody was asked, because the call was allowed or granted before.
func ApprovalOf(ctx context.Context) (a event.Approval, by string, ok bool) {
	if c := CallOf(ctx); c != nil {
		return c.host.Approval()
	}
	return a, "", false
}

// SecretOf returns the run's secret of this name, in a tool's context. It is empty if the run has none: it was given
// none, or is driven by another process than the one that was given it.
func SecretOf(ctx context.Context, name string) secret.Secret {
	if c := CallOf(ctx); c != nil {
		return c.host.Secret(name)
	}
	return secret.Secret{}
}
