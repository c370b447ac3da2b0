package braid

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/event"
)

// AnswerSchema asks for an answer that is JSON of that schema. A model whose provider
// can hold it to a schema ([ModelInfo].Output) is given it as [ModelRequest].Output; for
// the others it stands in the agent's instructions, so that each model of a [Fallback]
// is asked in its own way. However it was asked, a run whose last answer is not
// such JSON ends with an error of kind [event.ErrInvalid] beside it, and otherwise
// [event.RunEnded].Output holds the JSON. That counts for the root agent of a run.
func AnswerSchema(schema json.RawMessage) Part {
	return partFunc(func(a *Agent) error {
		bad := func(err error) error {
			return &event.Error{
				Op: "agent " + a.name, Kind: event.ErrInvalid, Message: "the schema of the answer is no JSON schema",
				Hint: `give one such as {"type":"object","properties":{}}`, Err: err,
			}
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(schema, &s); err != nil {
			return bad(err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return bad(err)
		}
		a.answer = resolved
		a.output = &OutputSchema{Name: schemaName(a.name), Schema: schema}
		a.asked = "Answer with JSON alone, without any text around it. It must be valid under this JSON schema:\n" + string(schema)
		return nil
	})
}

// told is what a model is told beside the conversation: the instructions, and the schema
// of the answer where its provider takes it. For the others that stands in the words.
func (a *Agent) told(info *ModelInfo) (instructions string, output *OutputSchema) {
	if a.output == nil || info.Output {
		return a.instructions, a.output
	}
	return a.withSchema, nil
}

// schemaName makes an agent's name one that providers take for a schema: at most 64
// letters, digits, "_" and "-".
func schemaName(agent string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, agent)
	if strings.Trim(name, "_-") == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}
