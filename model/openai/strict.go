package openai

import (
	"cmp"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// toolForm is a tool's schema on the wire, what of it is told in words, and whether the
// model is held to it (guides/function-calling, strict mode).
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

// strictForm is a schema that arguments can be held to. Members that may be missing are null
// instead; [arguments] takes them out.
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

// holdsTools reports whether the server can hold arguments to a schema.
func (m *Model) holdsTools() bool {
	if m.vendors {
		return holds(cmp.Or(m.family, m.name))
	}
	// Responses has it in each function; who asks for it at another server knows the server.
	return m.dialect.Strict || m.strict || m.api == Responses
}

// arguments takes out of the arguments of strict tools what is null because it is missing.
type arguments struct {
	// nulled are the members' names, by tool.
	nulled map[string]map[string]bool
	open   []argument
}

// argument is the arguments of one call, at the call's index.
type argument struct {
	index int
	text  absent
}

// take changes a chunk, and reports whether it goes out. What has been held back at the
// end goes to pass.
func (a *arguments) take(c *model.Chunk, pass func(model.Chunk)) bool {
	if len(a.nulled) == 0 {
		return true
	}
	switch c.Kind {
	case model.ChunkCall:
		if names := a.nulled[c.Text]; len(names) > 0 {
			a.open = append(a.open, argument{index: c.Index, text: absent{names: names}})
		}
	case model.ChunkCallInput:
		for i := range a.open {
			if a.open[i].index == c.Index {
				c.Text = string(a.open[i].text.write(c.Text))
				return c.Text != ""
			}
		}
	case model.ChunkStop:
		for i := range a.open {
			if rest := a.open[i].text.rest(); len(rest) > 0 {
				pass(model.Chunk{Kind: model.ChunkCallInput, Index: a.open[i].index, Text: string(rest)})
			}
		}
		a.open = nil
	default:
	}
	return true
}
