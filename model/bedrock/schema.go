package bedrock

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

const schemaHint = "rewrite the schema without what the message names"

// appendTool writes the description of a tool (API_runtime_ToolSpecification).
func (m *setup) appendTool(b []byte, t *model.ToolSpec) ([]byte, error) {
	rules, kind := m.family.schema, event.ErrInvalid
	if t.Strict {
		rules, kind = strictTools, event.ErrUnsupported
	}
	form, problems := m.forms.Form(t.Schema, rules)
	if p, bad := schema.Worst(problems, schema.Fatal); bad {
		return nil, notSent(kind, "the parameters of the tool %q cannot be said to Amazon Bedrock: %s", schemaHint, t.Name, p.Text)
	}
	b = strictjson.AppendString(append(b, `{"toolSpec":{"name":`...), m.family.names.Wire(t.Name))
	description := strings.TrimSpace(t.Description)
	if words := schema.Words(problems); words != "" {
		description = strings.TrimSpace(description + "\n\n" + words)
	}
	if description != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), description)
	}
	b = append(append(append(b, `,"inputSchema":{"json":`...), form...), '}')
	if t.Strict {
		b = append(b, `,"strict":true`...)
	}
	return append(b, `}}`...), nil
}

// strictTools are the rules for strict tools: those of an output schema (bedrock/latest/userguide/structured-output),
// for an object.
var strictTools = func() *schema.Rules {
	rules := *schema.AnthropicOutput
	rules.Object = true
	return &rules
}()

// appendOutput writes the schema for the answer, which the API takes as text (API_runtime_JsonSchemaDefinition).
func (m *setup) appendOutput(b []byte, req *model.Request) ([]byte, error) {
	o := req.Output
	form, _ := m.forms.Form(o.Schema, schema.AnthropicOutput) // Check has looked at its problems
	b = append(b, `,"outputConfig":{`...)
	t, err := m.thought(req)
	if err != nil {
		return nil, err
	}
	if forced(req) {
		t.effort = withoutThinking(t.effort)
	}
	if t.effort != "" && m.family.thinks == claudeDecides {
		b = append(append(append(b, `"effort":"`...), t.effort...), `",`...)
	}
	b = append(b, `"textFormat":{"type":"json_schema","structure":{"jsonSchema":{`...)
	if o.Name != "" {
		b = append(strictjson.AppendString(append(b, `"name":`...), o.Name), ',')
	}
	b = strictjson.AppendString(append(b, `"schema":`...), string(form))
	return append(b, `}}}}`...), nil
}
