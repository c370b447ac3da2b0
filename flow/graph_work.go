package flow

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// broken is the kind of an agent that could not be made. It never decides, because every run returns the agent's error.
type broken struct{}

// Next implements [Kind].
func (broken) Next(Scope) Command { return Command{} }

// failing is a part of an agent that has an error instead of a tool: the agent's error is that one.
type failing struct{ err error }

// Spec implements [tool.Tool].
func (failing) Spec() tool.Spec { return tool.Spec{Name: "broken"} }

// Err is the error.
func (f failing) Err() error { return f.err }

// Call implements [tool.Tool].
func (f failing) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, f.err
}

// toolNode is the kind of a node that calls a tool.
type toolNode struct{ tool tool.Tool }

// Next implements [Kind]. Braid does not call it.
func (toolNode) Next(Scope) Command { return Command{} }

// Tool implements [Worker].
func (t toolNode) Tool() tool.Tool { return inputTool{t.tool} }

// workSchema is the schema of what a worker's tool gets.
var workSchema = json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`)

// inputTool calls a tool with the node's input as its arguments.
type inputTool struct{ tool.Tool }

// Spec implements [tool.Tool].
func (t inputTool) Spec() tool.Spec {
	s := t.Tool.Spec()
	s.Schema = workSchema
	return s
}

// Err reports what is wrong with the tool.
func (t inputTool) Err() error { return tool.ErrOf(t.Tool) }

// Traits are those of the tool.
func (t inputTool) Traits() tool.Traits {
	traits := tool.TraitsOf(t.Tool)
	if reconcile := traits.Reconcile; reconcile != nil {
		traits.Reconcile = func(ctx context.Context, args json.RawMessage) (tool.Output, bool, error) {
			own, err := ownArguments(args)
			if err != nil {
				return tool.Output{}, false, nil //nolint:nilerr // such a call never reached the tool
			}
			return reconcile(ctx, own)
		}
	}
	return traits
}

// Call implements [tool.Tool].
func (t inputTool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	own, err := ownArguments(args)
	if err != nil {
		return tool.Output{}, err
	}
	return t.Tool.Call(ctx, own)
}

// ownArguments returns the JSON object in the input of a worker's tool.
func ownArguments(args json.RawMessage) (json.RawMessage, error) {
	text, err := workInput(args)
	if err != nil {
		return nil, err
	}
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil, &event.Error{
			Op: "graph", Kind: event.ErrInvalid, Message: "the input of a node with a tool is not a JSON object",
			Hint: "make the object in the node's Input function, or in the node before it",
		}
	}
	return json.RawMessage(text), nil
}

// workInput reads the arguments of a worker's tool.
func workInput(args json.RawMessage) (string, error) {
	var in struct {
		Input string `json:"input"`
	}
	err := json.Unmarshal(args, &in)
	return in.Input, err
}

// askNode is the kind of a node that asks a human.
type askNode struct{ question Question }

// Next implements [Kind]. Braid does not call it.
func (askNode) Next(Scope) Command { return Command{} }

// Tool implements [Worker].
func (a askNode) Tool() tool.Tool { return askTool(a) }

// askTool asks, and returns the answer.
type askTool struct{ question Question }

// Spec implements [tool.Tool].
func (askTool) Spec() tool.Spec {
	return tool.Spec{Name: "ask_human", Description: "Asks a human.", Schema: workSchema}
}

// Traits say that asking again changes nothing.
func (askTool) Traits() tool.Traits { return tool.Traits{Effect: event.EffectPure} }

// Call implements [tool.Tool].
func (t askTool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	text, err := workInput(args)
	if err != nil {
		return tool.Output{}, err
	}
	prompt := t.question.Text
	if text = strings.TrimSpace(text); text != "" {
		prompt += "\n\n" + text
	}
	if t.question.Schema == nil {
		answer, err := tool.Ask[string](ctx, prompt)
		return tool.Text(answer), err
	}
	answer, err := tool.Ask[json.RawMessage](ctx, prompt, func(q *event.Asked) error { q.Schema = t.question.Schema; return nil })
	if err != nil && errors.Is(err, tool.ErrWaits) {
		return tool.Output{}, err
	}
	return tool.Output{Structured: answer, Content: []event.Block{&event.Text{Text: string(answer)}}}, err
}
