package bedrock

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// Check implements [model.Checker]. It refuses tools that the model does not support, impossible tool choices, and
// schemas without a form.
func (m *Model) Check(req *model.Request) error {
	if req == nil {
		return notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	if err := m.possible(req); err != nil {
		return err
	}
	if err := m.unsupported(req.Messages); err != nil {
		return err
	}
	for i := range req.Tools {
		if _, err := m.appendTool(nil, &req.Tools[i]); err != nil {
			return err
		}
	}
	_, _, err := m.additional(req, false, false)
	return err
}

// possible returns an error for requests that the model can never serve.
func (m *setup) possible(req *model.Request) error {
	c := &req.ToolChoice
	switch c.Mode {
	case model.ToolsFree, model.ToolsAny, model.ToolsNone, model.ToolsOne:
	default:
		return notSent(event.ErrUnsupported, "there is no such choice of tools: %q", "use one of the known ones", string(c.Mode))
	}
	switch {
	case len(req.Tools) > 0 && m.family.noTools:
		return notSent(event.ErrUnsupported, "the model %q has no tools on Amazon Bedrock", "take another model, or no tools", m.name)
	case forced(req) && (m.family.choice == noChoice || m.family.binds):
		return notSent(event.ErrUnsupported, "the model %q cannot be made to call a tool",
			"leave the choice to the model, or take another one", m.name)
	case len(req.Tools) > 0 && c.Mode == model.ToolsOne &&
		!slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }):
		return notSent(event.ErrInvalid, "there is no tool %q to choose", "name one of the agent's tools", c.Tool)
	case req.Output != nil && !m.family.output:
		return notSent(event.ErrUnsupported, "the model %q cannot be held to a schema", "ask for it in words, or take another model", m.name)
	}
	if err := m.unkept(req); err != nil {
		return err
	}
	if err := m.strict(req.Tools); err != nil {
		return err
	}
	if req.Output != nil {
		_, problems := m.forms.Form(req.Output.Schema, schema.AnthropicOutput)
		if p, bad := schema.Worst(problems, schema.Fatal); bad {
			return notSent(event.ErrUnsupported, "the schema of the answer cannot be said to Amazon Bedrock: %s", schemaHint, p.Text)
		}
	}
	return nil
}

// mostStrict is the maximum number of strict tools in a request (platform.claude.com/docs,
// build-with-claude/structured-outputs).
const mostStrict = 20

// strict returns an error if the request's strict tools are not supported.
func (m *setup) strict(tools []model.ToolSpec) error {
	n := 0
	for i := range tools {
		if tools[i].Strict {
			n++
		}
	}
	switch {
	case n > 0 && !m.family.output:
		return notSent(event.ErrUnsupported, "the model %q cannot be held to the schemas of tools on Amazon Bedrock",
			"leave strict out, or take another model", m.name)
	case n > mostStrict:
		return notSent(event.ErrUnsupported, "a request has %d strict tools, and Amazon Bedrock takes %d", "leave strict out where it matters least",
			n, mostStrict)
	}
	return nil
}
