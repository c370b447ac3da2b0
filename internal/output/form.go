// Package output makes an agent's output conform to a JSON schema: it asks models for such output, reads and checks it,
// and parses it while it streams. It writes nothing to the log.
package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/model"
)

// ToolName is the name of the tool whose arguments are the output.
const ToolName = "final_answer"

// Form is the schema that an agent's output must keep to. It is safe for concurrent use.
type Form struct {
	// Schema is the schema as the program passed it.
	Schema json.RawMessage
	// Tool describes the tool that takes the output; its Name is empty if the schema cannot be a tool's.
	Tool model.ToolSpec
	// Wrapped reports whether the tool takes the output under the key [Key], because the output is not an object.
	Wrapped bool

	checked *schemacheck.Schema
	output  *model.OutputSchema
	// words request the output in the prompt.
	words string

	mu   sync.Mutex
	ways map[asked]Way
}

// New compiles a schema for an agent's output.
func New(schema json.RawMessage, agent string) (*Form, error) {
	checked, err := schemacheck.Compile(schema)
	if err != nil {
		return nil, err
	}
	f := &Form{
		Schema: schema, checked: checked, output: &model.OutputSchema{Name: schemaName(agent), Schema: schema},
		words: "Answer with JSON alone, without any text around it. It must be valid under this JSON schema:\n" + string(schema),
	}
	if arguments, wrapped, ok := argumentsOf(schema, checked.Type()); ok {
		f.Wrapped = wrapped
		f.Tool = model.ToolSpec{
			Name: ToolName, Schema: arguments,
			Description: "Takes your final answer. Call it once, when you know all that the answer needs. " +
				"Its arguments are the answer: whoever asked is shown them and nothing else.",
		}
	}
	return f, nil
}

// HasTool reports whether a tool can take the output. A nil form has none.
func (f *Form) HasTool() bool { return f != nil && f.Tool.Name != "" }

// Key is the key of the tool's argument for an output that is not an object.
const Key = "answer"

// argumentsOf turns a schema into a schema for a tool's arguments. ok is false if the schema refers to its own root,
// because the reference would then mean the arguments.
func argumentsOf(schema json.RawMessage, kind string) (arguments json.RawMessage, wrapped, ok bool) {
	if kind == "object" {
		return schema, false, true
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(schema, &members); err != nil {
		// true, or false: a schema without members.
		members = nil
	}
	if bytes.Contains(schema, []byte(`"#"`)) || bytes.Contains(schema, []byte(`"#/properties`)) || bytes.Contains(schema, []byte(`"#/items`)) {
		return nil, false, false
	}
	outer := map[string]any{"type": "object", "required": []string{Key}, "additionalProperties": false}
	for _, defs := range []string{"$defs", "definitions"} {
		if raw, has := members[defs]; has {
			outer[defs] = raw
			delete(members, defs)
		}
	}
	inner := schema
	if members != nil {
		inner, _ = json.Marshal(members) //nolint:errchkjson // it was JSON before
	}
	outer["properties"] = map[string]json.RawMessage{Key: inner}
	arguments, err := json.Marshal(outer)
	return arguments, true, err == nil
}

// schemaName turns an agent's name into a name that providers accept for a schema: at most 64 letters, digits, "_" and
// "-".
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
