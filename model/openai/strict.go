package openai

import (
	"cmp"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// toolForm returns a tool's schema on the wire, a text with the constraints that it lacks, and
// whether the tool is strict (guides/function-calling, strict mode).
func (m *Model) toolForm(t *model.ToolSpec, e *encoder) (form json.RawMessage, words string, strict bool, err error) {
	if t.Strict || m.strict {
		form, words, err = m.strictForm(t, e)
		if err == nil || t.Strict {
			return form, words, err == nil, err
		}
	}
	form, words, err = m.toolSchema(t)
	return form, words, false, err
}

// strictForm returns the schema of a strict tool. Optional members become nullable; [arguments]
// removes the nulls.
func (m *Model) strictForm(t *model.ToolSpec, e *encoder) (form json.RawMessage, words string, err error) {
	if !m.holdsTools() {
		return nil, "", notSent(event.ErrUnsupported, "the model cannot be held to the parameters of the tool %q",
			"leave strict out, or take another model", t.Name)
	}
	form, problems := m.forms.Form(t.Schema, schema.OpenAIOutput)
	absent, known := missing(problems)
	if p, none := schema.Worst(problems, schema.Fatal); none || form == nil || !known {
		if p.Text == "" {
			p.Text = "the schema has no strict form"
		}
		return nil, "", notSent(event.ErrUnsupported, "the model cannot be held to the parameters of the tool %q: %s",
			"give it a schema of objects whose properties are named, or leave strict out", t.Name, p.Text)
	}
	if len(absent) > 0 {
		if e.nulled == nil {
			e.nulled = map[string]map[string]bool{}
		}
		e.nulled[t.Name] = absent
	}
	return form, schema.Words(problems), nil
}

// holdsTools reports whether the server supports strict tools.
func (m *Model) holdsTools() bool {
	if m.vendors {
		return holds(cmp.Or(m.family, m.name))
	}
	// Responses has strict in each function. A caller who requests it from another server knows
	// that server.
	return m.dialect.Strict || m.strict || m.api == Responses
}

// toolSchema returns a tool's schema as the APIs accept it, and a text with the constraints
// that they do not accept. The tool validates its arguments in any case.
func (m *Model) toolSchema(t *model.ToolSpec) (form json.RawMessage, words string, err error) {
	form, problems := m.forms.Form(t.Schema, schema.OpenAITools)
	if p, none := schema.Worst(problems, schema.Fatal); none {
		where := ""
		if p.At != "" {
			where = " (at " + p.At + ")"
		}
		return nil, "", notSent(event.ErrInvalid, "the parameters of the tool %q cannot be told to OpenAI's models: %s%s",
			"give the tool a JSON schema with \"type\": \"object\"", t.Name, p.Text, where)
	}
	return form, schema.Words(problems), nil
}
