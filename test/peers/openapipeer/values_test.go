//go:build peers

package openapipeer

import (
	"maps"
	"slices"
	"strings"
)

// maker makes values that fit a schema of a tool's arguments.
type maker struct{ defs map[string]any }

// maxLevels is how deep optional parts of a value are filled in.
const maxLevels = 4

func (m *maker) value(schema any, level int) any {
	s, _ := schema.(map[string]any)
	if level > 20 {
		return nil // a schema that only an endless value fits
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.value(m.defs[strings.TrimPrefix(ref, "#/$defs/")], level+1)
	}
	if list, ok := s["enum"].([]any); ok {
		return list[0]
	}
	if v, ok := s["const"]; ok {
		return v
	}
	for _, k := range []string{"oneOf", "anyOf"} {
		if list, ok := s[k].([]any); ok && s["properties"] == nil && s["type"] == nil {
			return m.value(list[0], level+1)
		}
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind, _ = list[0].(string)
	}
	switch {
	case kind == "object" || kind == "" && s["properties"] != nil:
		return m.object(s, level)
	case kind == "array":
		n := int(figure(s, "minItems", 0))
		if n == 0 && level < maxLevels {
			n = 1
		}
		list := []any{}
		for range n {
			list = append(list, m.value(s["items"], level+1))
		}
		return list
	case kind == "integer", kind == "number":
		least := figure(s, "minimum", figure(s, "exclusiveMinimum", 0)+1)
		return min(max(least, 1), figure(s, "maximum", 1<<30))
	case kind == "boolean":
		return true
	case kind == "null":
		return nil
	}
	return word(s)
}

func (m *maker) object(s map[string]any, level int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, k := range []string{"anyOf", "oneOf"} { // which of the properties are needed
		if list, ok := s[k].([]any); ok {
			first, _ := list[0].(map[string]any)
			more, _ := first["required"].([]any)
			required = append(slices.Clone(required), more...)
			if inner, ok := first["properties"].(map[string]any); ok {
				properties = maps.Clone(properties)
				if properties == nil {
					properties = map[string]any{}
				}
				maps.Copy(properties, inner)
			}
		}
	}
	for name, one := range properties {
		if slices.Contains(required, any(name)) || level < maxLevels && s["anyOf"] == nil && s["oneOf"] == nil {
			out[name] = m.value(one, level+1)
		}
	}
	return out
}

func figure(s map[string]any, name string, otherwise float64) float64 {
	if v, ok := s[name].(float64); ok {
		return v
	}
	return otherwise
}

// word is a text of the schema's format and length.
func word(s map[string]any) string {
	formats := map[string]string{
		"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "email": "a@b.example",
		"uri": "https://a.example/b", "url": "https://a.example/b", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "YQ==", "hostname": "a.example",
	}
	format, _ := s["format"].(string)
	text := formats[format]
	if text == "" {
		text = "a b/c"
	}
	if p, ok := s["pattern"].(string); ok {
		text = matching(p)
	}
	if n := int(figure(s, "minLength", 0)); len(text) < n {
		text += strings.Repeat("x", n-len(text))
	}
	if n := int(figure(s, "maxLength", 1000)); len(text) > n {
		text = text[:n]
	}
	return text
}
