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

// output is how an answer is held to a schema (guides/structured-outputs). It is
// made once for each schema of a conversation.
type output struct {
	name   string
	schema json.RawMessage

	// member asks for it, words do so where the API cannot.
	member []byte
	words  string
	// absent are the members that are null where they are missing.
	absent map[string]bool
}

// update makes the output that of o, unless it is already.
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
		// What cannot be held strictly can still be asked for.
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

// answerWords is what an answer's schema does not say.
func answerWords(problems []schema.Problem) string {
	return strings.Replace(schema.Words(problems), "The input must", "The answer must", 1)
}

// missing are the names of members that are null where they are missing; known is
// false where null under one of the names can mean something else.
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

// aside reports whether a schema is one of something else than an object, which
// the API has no member for: it is told in words.
func aside(given json.RawMessage) bool {
	rules := *schema.OpenAITools
	rules.Object, rules.NotTop = false, nil
	form, _ := schema.Form(given, &rules)
	return form != nil
}

// appendOutput writes the member that asks for a schema, with a comma before it.
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
