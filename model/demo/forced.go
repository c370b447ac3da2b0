package demo

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// forced returns the answer of a model that must call a tool: the call, with arguments that follow the tool's schema
// as far as a script can. It returns nil if the choice requires no call, or if the reply already has it.
func forced(req *model.Request, reply *answer, fixed int) *answer {
	c := &req.ToolChoice
	if c.Mode != model.ToolsOne {
		return nil
	}
	for i := range reply.chunks {
		if k := &reply.chunks[i]; k.Kind == model.ChunkCall && k.Text == c.Tool {
			return nil
		}
	}
	for i := range req.Tools {
		if t := &req.Tools[i]; t.Name == c.Tool {
			f := example{words: lastWords(req)}
			_ = json.Unmarshal(t.Schema, &f.root)
			args, _ := f.value(f.root, 0)
			if len(args) == 0 || args[0] != '{' {
				args = []byte("{}")
			}
			return newAnswer([]block{{kind: model.ChunkCall, text: c.Tool, args: string(args)}}, fixed)
		}
	}
	return nil
}

// lastWords returns the last words of the model, or else of the user, in one line. They become the strings in the
// arguments.
func lastWords(req *model.Request) string {
	for _, role := range []event.Role{event.RoleAssistant, event.RoleUser} {
		for i := len(req.Messages) - 1; i >= 0; i-- {
			if m := &req.Messages[i]; m.Role == role {
				if text := strings.Join(strings.Fields(m.Text()), " "); text != "" {
					const most = 200
					return strings.TrimSpace(text[:cut(text, most)])
				}
			}
		}
	}
	return "demo"
}

// example builds a value that follows a schema.
type example struct {
	root  schemaNode
	words string
	// steps and bytes measure the value so far.
	steps, bytes int
}

// The limits of an example: references can make a schema's values exponentially large.
const (
	mostSteps = 10_000
	mostBytes = 256 << 10
)

// spend counts a part of the value and reports whether it fits the limits.
func (f *example) spend(part []byte) bool {
	f.bytes += len(part)
	return f.bytes <= mostBytes
}

// schemaNode holds the parts of a schema that an example uses.
type schemaNode struct {
	Type       json.RawMessage       `json:"type"`
	Const      json.RawMessage       `json:"const"`
	Default    json.RawMessage       `json:"default"`
	Enum       []json.RawMessage     `json:"enum"`
	Examples   []json.RawMessage     `json:"examples"`
	Properties json.RawMessage       `json:"properties"`
	Items      *schemaNode           `json:"items"`
	MinItems   int                   `json:"minItems"`
	Minimum    json.RawMessage       `json:"minimum"`
	MaxLength  *int                  `json:"maxLength"`
	Format     string                `json:"format"`
	Ref        string                `json:"$ref"`
	Defs       map[string]schemaNode `json:"$defs"`
	AnyOf      []schemaNode          `json:"anyOf"`
	OneOf      []schemaNode          `json:"oneOf"`
}

// UnmarshalJSON parses a schema. A boolean schema and an unsupported one set nothing.
func (n *schemaNode) UnmarshalJSON(raw []byte) error {
	type plain schemaNode
	var p plain
	if json.Unmarshal(raw, &p) == nil {
		*n = schemaNode(p)
	}
	return nil
}

// value returns a value for the schema n, or false if it would be infinite.
func (f *example) value(n schemaNode, depth int) (json.RawMessage, bool) {
	const deepest = 12
	if f.steps++; depth > deepest || f.steps > mostSteps {
		return nil, false
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return f.value(f.root.Defs[name], depth+1)
	}
	for _, given := range [][]json.RawMessage{{n.Const}, {n.Default}, n.Enum, n.Examples} {
		if len(given) > 0 && len(given[0]) > 0 {
			return given[0], true
		}
	}
	for _, either := range [][]schemaNode{n.AnyOf, n.OneOf} {
		for _, one := range either {
			if v, ok := f.value(one, depth+1); ok {
				return v, true
			}
		}
	}
	switch kindOf(n.Type) {
	case "integer", "number":
		if len(n.Minimum) > 0 {
			return n.Minimum, true
		}
		return json.RawMessage("1"), true
	case "boolean":
		return json.RawMessage("true"), true
	case "null":
		return json.RawMessage("null"), true
	case "array":
		return f.list(n, depth)
	case "object":
		return f.object(n, depth)
	case "":
		if len(n.Properties) > 0 {
			return f.object(n, depth)
		}
	}
	return f.text(n), true
}

func (f *example) text(n schemaNode) json.RawMessage {
	switch n.Format {
	case "date":
		return json.RawMessage(`"2026-01-01"`)
	case "date-time":
		return json.RawMessage(`"2026-01-01T00:00:00Z"`)
	}
	text := f.words
	if n.MaxLength != nil {
		text = text[:runes(text, max(*n.MaxLength, 0))]
	}
	return quote(text)
}

func (f *example) list(n schemaNode, depth int) (json.RawMessage, bool) {
	item := schemaNode{}
	if n.Items != nil {
		item = *n.Items
	}
	v, ok := f.value(item, depth+1)
	if !ok {
		return json.RawMessage("[]"), n.MinItems == 0
	}
	const most = 100
	list := append([]byte{'['}, v...)
	for i := 1; i < min(n.MinItems, most) && len(list) <= mostBytes; i++ {
		list = append(append(list, ','), v...)
	}
	return append(list, ']'), f.spend(list)
}

// object writes all finite properties, in the schema's order.
func (f *example) object(n schemaNode, depth int) (json.RawMessage, bool) {
	out := []byte{'{'}
	d := json.NewDecoder(bytes.NewReader(n.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return json.RawMessage("{}"), true
	}
	for f.steps <= mostSteps && f.bytes <= mostBytes && d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		var p schemaNode
		if d.Decode(&p) != nil {
			break
		}
		v, ok := f.value(p, depth+1)
		if !ok {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := key.(string)
		out = append(append(append(out, quote(name)...), ':'), v...)
	}
	return append(out, '}'), f.spend(out)
}
