package anthropic

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// Check implements [model.Checker]: it finds the schemas that the API cannot
// be given, and the settings that the model does not have.
func (m *Model) Check(req *model.Request) error {
	if _, err := m.appendHead(nil, req); err != nil {
		return err
	}
	_, err := m.tail(req, false)
	return err
}

// appendOutput holds the answer to a schema.
func (m *Model) appendOutput(b []byte, o *model.OutputSchema) ([]byte, error) {
	if o == nil {
		return b, nil
	}
	if !schematic(m.name) {
		return nil, notSent(event.ErrUnsupported, "The model cannot be held to a schema.", "take Claude 4.5 or a newer one")
	}
	form, problems := m.forms.Form(o.Schema, schema.AnthropicOutput)
	if p, fatal := schema.Worst(problems, schema.Fatal); fatal {
		return nil, notSent(event.ErrUnsupported, "The schema of the answer cannot be given to Claude: %s",
			"change the schema, or ask for it in words", p.Text)
	}
	return append(append(append(b, `,"output_config":{"format":{"type":"json_schema","schema":`...), form...), `}}`...), nil
}
