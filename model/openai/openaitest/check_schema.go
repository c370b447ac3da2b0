package openaitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// output checks the output schema of a request (guides/structured-outputs).
func (c *checker) output(raw json.RawMessage, at string) {
	if raw == nil {
		return
	}
	o := c.object(raw, at, "type", "name", "description", "schema", "strict", "json_schema")
	switch kind := c.str(o, at, "type"); kind {
	case "text", "json_object":
		return
	case "json_schema":
	default:
		c.fail("Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind)
		return
	}
	if inner, ok := o["json_schema"]; ok {
		at += ".json_schema"
		o = c.object(inner, at, "name", "description", "schema", "strict")
	}
	if !c.server.Compatible && !holding.MatchString(c.model) {
		c.fail("Invalid parameter: '%s' of type 'json_schema' is not supported with this model.", at)
	}
	name := c.name(o, at)
	if string(o["strict"]) == "true" {
		c.strict(o["schema"], name)
		return
	}
	var schema object
	if json.Unmarshal(o["schema"], &schema) != nil || string(schema["type"]) != `"object"` {
		c.fail("Invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", name)
	}
	c.loose(o["schema"], name, nil)
}

var holding = regexp.MustCompile(`^(gpt-4o|gpt-4\.1|gpt-[5-9]|o\d)`)

// where returns a place in a schema in the API's form.
func where(path []string) string {
	if len(path) == 0 {
		return "()"
	}
	return "('" + strings.Join(path, "', '") + "')"
}

// loose checks a schema that is not enforced. Arrays must describe their items.
func (c *checker) loose(raw json.RawMessage, name string, path []string) {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || s == nil {
		c.fail("Invalid schema for function '%s': In context=%s, %s is not of type 'object'.", name, where(path), raw)
		return
	}
	if _, ok := s["items"]; !ok && strings.Contains(string(s["type"]), `"array"`) {
		c.fail("Invalid schema for function '%s': In context=%s, array schema missing items.", name, where(path))
	}
	c.schemasIn(s, path, func(raw json.RawMessage, path []string) { c.loose(raw, name, path) })
}

// schemasIn visits the subschemas of a schema.
func (c *checker) schemasIn(s map[string]json.RawMessage, path []string, visit func(json.RawMessage, []string)) {
	at := func(steps ...string) []string { return append(slices.Clone(path), steps...) }
	for key, raw := range s {
		switch key {
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			var named map[string]json.RawMessage
			if json.Unmarshal(raw, &named) != nil {
				c.fail("Invalid schema: In context=%s, '%s' is no object.", where(path), key)
			}
			for name, sub := range named {
				visit(sub, at(key, name))
			}
		case "items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
			if string(raw) == "true" || string(raw) == "false" {
				continue
			}
			visit(raw, at(key))
		case "anyOf", "oneOf", "allOf", "prefixItems":
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
				c.fail("Invalid schema: In context=%s, '%s' is no list of schemas.", where(path), key)
			}
			for i, sub := range list {
				visit(sub, at(key, strconv.Itoa(i)))
			}
		}
	}
}

// permitted are the keywords of strict schemas.
var permitted = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs", "definitions",
	"title", "description", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}

var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// strict checks a schema that is enforced ("supported schemas").
func (c *checker) strict(raw json.RawMessage, name string) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || string(top["type"]) != `"object"` {
		c.fail("Invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", name)
		return
	}
	for _, k := range []string{"anyOf", "enum", "const", "not", "oneOf", "allOf"} {
		if _, ok := top[k]; ok {
			c.fail("Invalid schema for response_format '%s': schema must have type 'object' and not have '%s' at the top level.", name, k)
		}
	}
	c.strictly(raw, name, nil)
}

func (c *checker) strictly(raw json.RawMessage, name string, path []string) {
	no := func(format string, args ...any) {
		c.fail("Invalid schema for response_format '%s': In context=%s, %s", name, where(path), fmt.Sprintf(format, args...))
	}
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || s == nil {
		no("%s is not of type 'object'.", raw)
		return
	}
	for k := range s {
		if !slices.Contains(permitted, k) {
			no("'%s' is not permitted.", k)
		}
	}
	if _, ok := s["$ref"]; ok {
		if len(s) > 1 {
			no("$ref cannot have keywords beside it.")
		}
		return
	}
	_, typed := s["type"]
	if _, either := s["anyOf"]; !typed && !either {
		no("schema must have a 'type' key.")
	}
	types := string(s["type"])
	if strings.Contains(types, `"object"`) {
		if string(s["additionalProperties"]) != "false" {
			no("'additionalProperties' is required to be supplied and to be false.")
		}
		var props map[string]json.RawMessage
		var required []string
		if json.Unmarshal(s["properties"], &props) != nil {
			no("object schema missing properties.")
		}
		if s["required"] == nil || json.Unmarshal(s["required"], &required) != nil {
			no("'required' is required to be supplied and to be an array including every key in properties.")
		}
		for p := range props {
			if !slices.Contains(required, p) {
				no("'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", p)
			}
		}
		if len(required) > len(props) {
			no("'required' has names that are no properties.")
		}
	}
	if _, ok := s["items"]; !ok && strings.Contains(types, `"array"`) {
		no("array schema missing items.")
	}
	var format string
	if raw, ok := s["format"]; ok && (json.Unmarshal(raw, &format) != nil || !slices.Contains(formats, format)) {
		no("'%s' is not a valid format.", format)
	}
	c.schemasIn(s, path, func(raw json.RawMessage, path []string) { c.strictly(raw, name, path) })
}
