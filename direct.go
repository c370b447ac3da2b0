package braid

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/internal/strictjson"
)

// Call calls one of the agent's tools without asking a model. args are written as a JSON object; nil is an empty one.
// The call is a run with the agent's hooks, limits and state.
//
// With [In] the conversation records the call as four messages, so that the model sees it in later turns: a user's
// message that says which tool is called, the call, its result and a closing message of the agent. Without [In]
// nothing is recorded, and the tool sees no state. If the conversation is busy, the call is refused with
// [event.ErrLocked], or waits behind the open run with [During] and [Queue].
//
// The error says why there is no result: there is no such tool, or the call failed, was refused or was cancelled. If
// the tool ran, its result is returned beside the error. A result that the tool itself marks as a failure is no error
// here. If the tool asks a user, the run waits and the error is [event.ErrConflict]. [Into] then has the questions and
// the conversation; answer them and use [Agent.Resume].
func (a *Agent) Call(ctx context.Context, tool string, args any, opts ...RunOption) (*event.ToolResult, error) {
	o := options(opts)
	in, err := a.called(tool, args, o)
	if err != nil {
		return nil, err
	}
	r := o.into
	if r == nil {
		r = &Result{}
	}
	var end *event.StepEnded
	err = a.drive(ctx, in.input, o, r, func(e event.Event) bool {
		if b, ok := e.Body.(*event.StepEnded); ok && e.Scope == "" && b.Result != nil && b.Result.Call == in.call.ID {
			end = b
		}
		return true
	})
	switch {
	case end == nil && err != nil:
		return nil, err
	case end == nil && r.Status == event.RunWaiting:
		return nil, &event.Error{
			Op: "tool " + tool, Kind: event.ErrConflict, Message: "the tool asks a person, and the run waits for the answer",
			Hint: "answer the questions of the Result that braid.Into fills, and Resume its conversation",
		}
	case end == nil:
		return nil, &event.Error{
			Op: "tool " + tool, Kind: event.ErrPermission, Message: "the run ended without the call: " + r.Text(),
			Hint: "look at the agent's hooks",
		}
	case err == nil && end.Err != nil:
		err = end.Err
	}
	return end.Result, err
}

// directCall is the input of a run that the program itself asks for.
type directCall struct{ call *event.ToolCall }

// input is what of it the log has before the tool runs.
func (c *directCall) input(*runOptions) ([]event.Message, error) {
	words := "[The program itself calls the tool " + strconv.Quote(c.call.Name) + ".]"
	return []event.Message{
		{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: words}}},
		{Role: event.RoleAssistant, Content: []event.Block{c.call}},
	}, nil
}

// called checks what is to be called.
func (a *Agent) called(tool string, args any, o *runOptions) (*directCall, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	bad := func(kind event.ErrorKind, message, hint string, err error) (*directCall, error) {
		return nil, &event.Error{Op: "tool " + tool, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	if err := a.prepare(o); err != nil {
		return nil, err
	}
	offered := a.current()
	if o.own != nil && o.own.agent != nil {
		offered = o.own.agent.Current()
	}
	if offered.Find(tool) < 0 {
		hint := "the tools are: " + toolset.List(offered.Names)
		if near := nearest.Word(tool, offered.Names); near != "" {
			hint = "did you mean " + strconv.Quote(near) + "?"
		}
		return bad(event.ErrNotFound, "the agent "+a.set.Name+" has no such tool", hint, nil)
	}
	if o.beside.any() || len(o.beside.answers) > 0 {
		return bad(event.ErrUnsupported, "a tool call has no input but its arguments", "leave the attachments, messages and answers out", nil)
	}
	if o.beside.policy == Steer {
		return bad(event.ErrUnsupported, "a tool call cannot join an open run", "use braid.Queue", nil)
	}
	raw := drive.EmptyObject
	if args != nil {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		err := enc.Encode(args)
		if err == nil {
			raw = bytes.TrimSpace(buf.Bytes())
			err = strictjson.Check(raw, strictjson.DefaultDepth)
		}
		if err != nil || raw[0] != '{' {
			return bad(event.ErrInvalid, "the arguments are no JSON object", "pass a struct, a map or a json.RawMessage", err)
		}
	}
	return &directCall{&event.ToolCall{ID: directID(o.Key), Name: tool, Args: raw}}, nil
}

// directID names a direct call: at random, or by the run's idempotency key, under which the
// same call must look the same.
func directID(key string) string {
	if key == "" {
		return "direct_" + drive.NewID()
	}
	sum := sha256.Sum256([]byte(key))
	return "direct_" + hex.EncodeToString(sum[:12])
}
