package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// output holds the encoding of a structured output (guides/structured-outputs). It is computed
// once per schema of a conversation.
type output struct {
	name   string
	schema json.RawMessage

	// member is the request's member with the schema. If the API cannot take the schema, words
	// describes it for the prompt instead.
	member []byte
	words  string
	// absent are the optional members, which are null if absent.
	absent map[string]bool
}

// update computes the encoding of o, unless it is already cached.
func (u *output) update(m *Model, o *model.OutputSchema) error {
	if !m.outputs {
		return notSent(event.ErrUnsupported, "the model cannot be held to a schema", "ask for it in words, or take another model")
	}
	if u.name == o.Name && len(u.schema) > 0 && bytes.Equal(u.schema, o.Schema) {
		return nil
	}
	*u = output{}
	form, problems := m.forms.Form(o.Schema, schema.OpenAIOutput)
	absent, known := missing(problems)
	strict := form != nil && known
	if !strict {
		// A schema that cannot be strict can still be sent.
		form, problems = m.forms.Form(o.Schema, schema.OpenAITools)
		absent = nil
	}
	if p, none := schema.Worst(problems, schema.Fatal); none {
		if !aside(o.Schema) {
			return notSent(event.ErrInvalid, "the schema of the answer cannot be told to OpenAI's models: %s",
				"give a JSON schema of an object", p.Text)
		}
		u.words = "Answer with JSON alone, without anything around it. It must be valid under this JSON schema: " + string(o.Schema)
	} else {
		u.member = m.appendOutput(nil, o.Name, form, answerWords(problems), strict)
		u.absent = absent
	}
	u.name, u.schema = o.Name, slices.Clone(o.Schema)
	return nil
}

// answerWords returns the constraints that the schema on the wire lacks, as text.
func answerWords(problems []schema.Problem) string {
	return strings.Replace(schema.Words(problems), "The input must", "The answer must", 1)
}

// missing returns the names of members that are null if absent. known is false if null may have
// another meaning under one of the names.
func missing(problems []schema.Problem) (names map[string]bool, known bool) {
	for i := range problems {
		p := &problems[i]
		if p.Kind != schema.Nulled {
			continue
		}
		if p.Name == "" {
			return nil, false
		}
		if names == nil {
			names = make(map[string]bool)
		}
		names[p.Name] = true
	}
	return names, true
}

// aside reports whether a schema is valid but not one of an object. The API cannot take it, so
// it goes into the prompt.
func aside(given json.RawMessage) bool {
	rules := *schema.OpenAITools
	rules.Object, rules.NotTop = false, nil
	form, _ := schema.Form(given, &rules)
	return form != nil
}

// appendOutput writes the member with the schema, with a leading comma.
func (m *Model) appendOutput(b []byte, name string, schema json.RawMessage, words string, strict bool) []byte {
	if name == "" {
		name = "answer"
	}
	end := `}}`
	if m.api == Responses {
		b = append(b, `,"text":{"format":{"type":"json_schema","name":`...)
	} else {
		b = append(b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...)
	}
	b = strictjson.AppendString(b, toolNames.Wire(name))
	if words != "" {
		b = strictjson.AppendString(append(b, `,"description":`...), words)
	}
	b = append(append(b, `,"schema":`...), schema...)
	if strict {
		b = append(b, `,"strict":true`...)
	} else {
		b = append(b, `,"strict":false`...)
	}
	return append(b, end...)
}
