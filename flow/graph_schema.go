package flow

import (
	"encoding/json"
	"fmt"
	"slices"
)

// schemaPart is the part of a JSON schema that the check of edges reads.
type schemaPart struct {
	Type       schemaTypes            `json:"type"`
	Properties map[string]*schemaPart `json:"properties"`
	Required   []string               `json:"required"`
	Items      *schemaPart            `json:"items"`
}

// schemaTypes is the keyword type: one name or several.
type schemaTypes []string

// UnmarshalJSON reads both forms.
func (t *schemaTypes) UnmarshalJSON(raw []byte) error {
	var one string
	if err := json.Unmarshal(raw, &one); err == nil {
		*t = schemaTypes{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// wrongSchema says why a text is no JSON schema; empty for one that is, and for none.
func wrongSchema(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var p map[string]json.RawMessage
	if err := json.Unmarshal(raw, &p); err != nil {
		return "is not a JSON object"
	}
	var s schemaPart
	if err := json.Unmarshal(raw, &s); err != nil {
		return "is not a JSON schema"
	}
	return ""
}

// deepestSchema bounds how deep two schemas are compared.
const deepestSchema = 16

// misfit says where values of the schema out do not fit the schema in; empty if they may fit. It compares types, required
// properties and elements of arrays, and leaves other keywords to the receiver.
func misfit(out, in *schemaPart, path string, depth int) string {
	if out == nil || in == nil || depth > deepestSchema {
		return ""
	}
	if len(out.Type) > 0 && len(in.Type) > 0 && !slices.ContainsFunc(out.Type, func(t string) bool { return accepts(in.Type, t) }) {
		return fmt.Sprintf("%s is %s, and the next node takes %s", place(path), typeNames(out.Type), typeNames(in.Type))
	}
	for _, name := range in.Required {
		if out.Properties != nil && out.Properties[name] == nil && !slices.Contains(out.Required, name) {
			return fmt.Sprintf("%s has no property %q, which the next node requires", place(path), name)
		}
	}
	var shared []string
	for name := range in.Properties {
		shared = append(shared, name)
	}
	slices.Sort(shared)
	for _, name := range shared {
		if wrong := misfit(out.Properties[name], in.Properties[name], path+"/"+name, depth+1); wrong != "" {
			return wrong
		}
	}
	return misfit(out.Items, in.Items, path+"/items", depth+1)
}

func accepts(types []string, t string) bool {
	return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number")
}

func place(path string) string {
	if path == "" {
		return "the output"
	}
	return "the output at " + path
}

func typeNames(types []string) string {
	if len(types) == 1 {
		return types[0]
	}
	return fmt.Sprint(types)
}

// schemas checks each edge whose two ends declare a schema.
func (c *checker) schemas(s *shape) {
	g := c.g
	for i := range g.Edges {
		from, to := &g.Nodes[s.from[i]], &g.Nodes[s.to[i]]
		in, out := to.in(), from.Out
		if in == nil || out == nil || to.Input != nil || g.Edges[i].Failed || len(s.in[s.to[i]]) > 1 {
			continue
		}
		if to.feed() != FeedOutputs {
			continue
		}
		var produced, taken schemaPart
		if json.Unmarshal(out, &produced) != nil || json.Unmarshal(in, &taken) != nil {
			continue
		}
		if wrong := misfit(&produced, &taken, "", 0); wrong != "" {
			c.edge(i, "change one of the schemas, or map the input with Input", "%s", wrong)
		}
	}
}

// in returns the schema of the node's input; nil if none is declared.
func (n *Node) in() json.RawMessage {
	if n.In == nil && n.Tool != nil {
		return n.Tool.Spec().Schema
	}
	return n.In
}
