package openapitool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// definition is a schema of the document that others refer to.
type definition struct {
	name     string
	schema   any
	readOnly bool
	// uses lists the definitions that the schema refers to.
	uses map[string]bool
	done bool
	err  error
}

var (
	errLarge    = errors.New("has schemas that are too large")
	errSelfAll  = errors.New("has a schema that contains itself through allOf")
	errNoSchema = errors.New("has a schema that is neither an object nor true or false")
)

// simple lists the keywords of a schema that are copied. What a model does not need is left out: examples, xml, discriminator,
// extensions.
var simple = map[string]bool{
	"type": true, "title": true, "description": true, "enum": true, "default": true, "const": true, "format": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minLength": true, "maxLength": true, "pattern": true, "minItems": true, "maxItems": true, "uniqueItems": true,
	"minContains": true, "maxContains": true, "required": true, "minProperties": true, "maxProperties": true,
	"dependentRequired": true,
}

// Keywords with schemas inside: one, a list, or one per name.
var (
	nested = map[string]bool{
		"items": true, "additionalProperties": true, "not": true, "if": true, "then": true, "else": true, "contains": true,
		"propertyNames": true,
	}
	lists = map[string]bool{"oneOf": true, "anyOf": true, "prefixItems": true}
	named = map[string]bool{"patternProperties": true, "dependentSchemas": true}
)

// conversion converts one schema to JSON Schema for a model.
type conversion struct {
	doc  *document
	uses map[string]bool
	// within lists the references whose schemas are being merged. Those from chain on are merged into one schema; the others contain
	// it.
	within []string
	chain  int
	// nodes is how many more parts the schema may have.
	nodes int
}

func (d *document) conversion(uses map[string]bool) *conversion {
	return &conversion{doc: d, uses: uses, nodes: mostNodesOfOne}
}

// enter returns an error if the schema becomes too large or too deep.
func (c *conversion) enter(depth int) error {
	c.nodes--
	c.doc.nodes--
	switch {
	case c.nodes < 0 || c.doc.nodes < 0:
		return errLarge
	case depth > maxDepth:
		return errDeep
	}
	return nil
}

// convert returns a schema of the document as JSON Schema. References to schemas become references into $defs, which uses
// lists.
func (d *document) convert(raw []byte, uses map[string]bool) (any, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return d.conversion(uses).schema(v, 0)
}

func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, errSyntax
	}
	return v, nil
}

func (c *conversion) schema(v any, depth int) (any, error) {
	if err := c.enter(depth); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return c.reference(ref, v, depth)
		}
		return c.object(v, depth)
	}
	return nil, errNoSchema
}

// below converts a schema inside of another one, such as that of a property.
func (c *conversion) below(v any, depth int) (any, error) {
	chain := c.chain
	c.chain = len(c.within)
	defer func() { c.chain = chain }()
	return c.schema(v, depth)
}

// reference converts a reference. A plain value, such as a text with an enum, is put in its place.
func (c *conversion) reference(ref string, v map[string]any, depth int) (any, error) {
	def := c.doc.definition(ref)
	if def.err != nil {
		return nil, def.err
	}
	beside := map[string]any{}
	if !c.doc.old && len(v) > 1 {
		others := make(map[string]any, len(v))
		for k, one := range v {
			if k != "$ref" {
				others[k] = one
			}
		}
		var err error
		if beside, err = c.object(others, depth+1); err != nil {
			return nil, err
		}
	}
	if m, ok := def.schema.(map[string]any); def.done && ok && isScalar(m) {
		out := make(map[string]any, len(m)+len(beside))
		maps.Copy(out, m)
		merge(out, beside)
		return out, nil
	}
	c.uses[ref] = true
	beside["$ref"] = "#/$defs/" + def.name
	return beside, nil
}

// isScalar reports whether a converted schema describes a text, a number or a boolean, and nothing else.
func isScalar(m map[string]any) bool {
	switch m["type"] {
	case "string", "number", "integer", "boolean":
		return m["oneOf"] == nil && m["anyOf"] == nil && m["allOf"] == nil
	}
	return false
}

// definition returns the schema that a reference refers to. It is converted once for all operations.
func (d *document) definition(ref string) *definition {
	if def := d.schemas[ref]; def != nil {
		return def
	}
	def := &definition{uses: map[string]bool{}}
	d.schemas[ref] = def
	def.name = unique(legal(ref[strings.LastIndexByte(ref, '/')+1:]), ref, d.names)
	raw, err := d.at(ref)
	if err != nil {
		def.err = err
		return def
	}
	v, err := decode(raw)
	if err != nil {
		def.err = err
		return def
	}
	if m, ok := v.(map[string]any); ok {
		def.readOnly, _ = m["readOnly"].(bool)
	}
	c := d.conversion(def.uses)
	c.within = []string{ref}
	def.schema, def.err = c.schema(v, 0)
	def.done = true
	return def
}

// object converts a schema that is no reference. allOf becomes one schema.
func (c *conversion) object(v map[string]any, depth int) (map[string]any, error) {
	out := make(map[string]any, len(v))
	var hidden map[string]bool
	for k, one := range v {
		var err error
		switch {
		case simple[k]:
			out[k] = one
		case nested[k]:
			out[k], err = c.below(one, depth+1)
		case lists[k]:
			out[k], err = c.list(one, depth)
		case named[k]:
			out[k], err = c.properties(one, depth, nil)
		case k == "properties":
			hidden = map[string]bool{}
			out[k], err = c.properties(one, depth, hidden)
		}
		if err != nil {
			return nil, err
		}
	}
	c.tidy(out, hidden)
	if all, ok := v["allOf"].([]any); ok {
		if err := c.allOf(out, all, depth); err != nil {
			return nil, err
		}
	}
	if c.doc.old {
		bounds(out)
		if null, _ := v["nullable"].(bool); null {
			out = nullable(out)
		}
	}
	if f := out["format"]; f == "binary" || v["contentMediaType"] == "application/octet-stream" {
		said, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(said + " (The content of the file: text, or a data: URL with base64.)")
	}
	return out, nil
}

// tidy removes what a checker of schemas would refuse: required names of hidden properties, and patterns that only
// JavaScript reads. The server checks its arguments itself.
func (c *conversion) tidy(out map[string]any, hidden map[string]bool) {
	if list, ok := out["required"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(one any) bool {
			name, ok := one.(string)
			return !ok || hidden[name]
		})
		if out["required"] = list; len(list) == 0 {
			delete(out, "required")
		}
	} else {
		delete(out, "required") // some documents write a boolean there
	}
	if p, ok := out["pattern"].(string); ok {
		if _, err := regexp.Compile(p); err != nil {
			delete(out, "pattern")
		}
	}
	if m, ok := out["patternProperties"].(map[string]any); ok {
		for p := range m {
			if _, err := regexp.Compile(p); err != nil {
				delete(m, p)
			}
		}
	}
	if list, ok := out["enum"].([]any); ok && len(list) == 0 {
		delete(out, "enum")
	}
}

func (c *conversion) list(v any, depth int) (any, error) {
	in, ok := v.([]any)
	if !ok {
		return nil, errNoSchema
	}
	out := make([]any, len(in))
	for i, one := range in {
		var err error
		if out[i], err = c.below(one, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// properties converts the schemas of an object's properties. Those that are read-only are left out and noted in hidden.
func (c *conversion) properties(v any, depth int, hidden map[string]bool) (any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, errNoSchema
	}
	out := make(map[string]any, len(in))
	for name, one := range in {
		if hidden != nil && c.readOnly(one) {
			hidden[name] = true
			continue
		}
		var err error
		if out[name], err = c.below(one, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *conversion) readOnly(v any) bool {
	m, _ := v.(map[string]any)
	if is, _ := m["readOnly"].(bool); is {
		return true
	}
	if ref, ok := m["$ref"].(string); ok {
		return c.doc.definition(ref).readOnly
	}
	if all, ok := m["allOf"].([]any); ok && len(all) == 1 {
		return c.readOnly(all[0])
	}
	return false
}

// bounds writes exclusive bounds as JSON Schema does: as numbers.
func bounds(out map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		is, ok := out[exclusive].(bool)
		if !ok {
			continue
		}
		delete(out, exclusive)
		if limit := out[bound]; is && limit != nil {
			out[exclusive] = limit
			delete(out, bound)
		}
	}
}

// nullable also accepts null.
func nullable(out map[string]any) map[string]any {
	t, ok := out["type"].(string)
	if !ok || out["$ref"] != nil {
		if len(out) == 0 || out["type"] != nil {
			return out
		}
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	out["type"] = []any{t, "null"}
	if list, ok := out["enum"].([]any); ok && !slices.Contains(list, nil) {
		out["enum"] = append(slices.Clone(list), nil)
	}
	return out
}

// withDefinitions adds $defs with all definitions that a schema needs.
func (d *document) withDefinitions(schema map[string]any, uses map[string]bool) error {
	all := map[string]any{}
	var todo []string
	for ref := range uses {
		todo = append(todo, ref)
	}
	slices.Sort(todo) // so that of several errors the same one is reported
	seen := map[string]bool{}
	for len(todo) > 0 {
		ref := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		def := d.definition(ref)
		if def.err != nil {
			return def.err
		}
		all[def.name] = def.schema
		for next := range def.uses {
			todo = append(todo, next)
		}
	}
	if len(all) > 0 {
		schema["$defs"] = all
	}
	return nil
}

// same reports whether two values are the same JSON.
func same(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
