package anthropic

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// Check implements [model.Checker]. It returns an error for schemas that the API cannot take, for
// settings that the model does not have, and for content that it cannot read.
func (m *Model) Check(req *model.Request) error {
	req = m.filled(req)
	if _, err := m.header(req); err != nil {
		return err
	}
	if _, err := new(head).of(m, req); err != nil {
		return err
	}
	if err := m.unsupported(req); err != nil {
		return err
	}
	if _, _, err := m.changed(req, nil); err != nil {
		return err
	}
	_, err := m.tail(req, false)
	return err
}

// appendOutput writes output_config: the schema of the answer and the effort.
func (m *Model) appendOutput(b []byte, o *model.OutputSchema, effort string) ([]byte, error) {
	if o == nil && effort == "" {
		return b, nil
	}
	b = append(b, `,"output_config":{`...)
	if effort != "" {
		b = append(b, `"effort":"`+effort+`"`...)
	}
	if o == nil {
		return append(b, '}'), nil
	}
	if effort != "" {
		b = append(b, ',')
	}
	if !schematic(m.name) {
		return nil, notSent(event.ErrUnsupported, "the model cannot be held to a schema", "take Claude 4.5 or a newer one")
	}
	form, problems := m.forms.Form(o.Schema, schema.AnthropicOutput)
	if p, fatal := schema.Worst(problems, schema.Fatal); fatal {
		return nil, notSent(event.ErrUnsupported, "the schema of the answer cannot be given to Claude: %s",
			"change the schema, or ask for it in words", p.Text)
	}
	return append(append(append(b, `"format":{"type":"json_schema","schema":`...), form...), `}}`...), nil
}
