package anthropictest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var generations = regexp.MustCompile(`^claude(?:-[a-z]+)*-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`)

// late is a model's generation: 405 of claude-sonnet-4-5; a name without one is new.
func late(model string) int {
	g := generations.FindStringSubmatch(model)
	if g == nil {
		return 999
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// output checks the schema that the answer is held to
// (build-with-claude/structured-outputs, "JSON Schema limitations").
func (c *checker) output(o object) {
	raw, ok := o["output_config"]
	if !ok {
		return
	}
	config := c.object(raw, "output_config", "format", "effort")
	format, ok := config["format"]
	if !ok {
		return
	}
	if late(c.model) < 405 {
		c.fail("'%s' does not support output format.", c.model)
	}
	f := c.object(format, "output_config.format", "type", "schema")
	if c.str(f, "output_config.format", "type") != "json_schema" {
		c.fail("output_config.format.type: Input should be 'json_schema'")
	}
	var top object
	_ = json.Unmarshal(f["schema"], &top) // what is no object is found below
	for _, words := range []string{"$defs", "definitions"} {
		var definitions map[string]json.RawMessage
		_ = json.Unmarshal(top[words], &definitions) // likewise
		for name, d := range definitions {
			if strings.Contains(string(d), `"#/`+words+`/`+name+`"`) {
				c.fail("output_config.format.schema: Circular reference detected in schema definitions: %s", name)
			}
			c.schema(d)
		}
	}
	c.schema(f["schema"])
}

// What schemas of answers may say.
var (
	schemaWords = []string{
		"$ref", "$defs", "definitions", "type", "anyOf", "oneOf", "allOf", "description", "title", "enum", "const", "default", "format",
		"pattern", "properties", "additionalProperties", "required", "items", "minItems",
	}
	schemaTypes   = []string{`"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `"boolean"`, `"null"`}
	schemaFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// schema checks a schema and all below it.
func (c *checker) schema(raw []byte) {
	const at = "output_config.format.schema"
	var s object
	if json.Unmarshal(raw, &s) != nil || s == nil {
		c.fail("%s: Input should be a valid dictionary", at)
		return
	}
	for k := range s {
		if !slices.Contains(schemaWords, k) {
			c.fail("%s: property '%s' is not supported", at, k)
		}
	}
	kind := string(s["type"])
	switch {
	case strings.HasPrefix(kind, "["):
	case kind != "" && !slices.Contains(schemaTypes, kind):
		c.fail("%s: Schema type '%s' is not supported", at, kind)
	case kind == "" && s["$ref"] == nil && s["anyOf"] == nil && s["allOf"] == nil && s["enum"] == nil && s["const"] == nil:
		c.fail("%s: Schema must have a 'type', 'anyOf', '$ref', 'enum' or 'const'", at)
	}
	if strings.Contains(kind, `"object"`) && string(s["additionalProperties"]) != "false" {
		c.fail("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", at)
	}
	var format string
	if json.Unmarshal(s["format"], &format) == nil && s["format"] != nil && !slices.Contains(schemaFormats, format) {
		c.fail("%s: For 'string' type, format '%s' is not supported", at, format)
	}
	if n := string(s["minItems"]); n != "" && n != "0" && n != "1" {
		c.fail("%s: For 'array' type, 'minItems' values other than 0 or 1 are not supported", at)
	}
	if s["oneOf"] != nil {
		c.fail("%s: Schema type 'oneOf' is not supported", at)
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(s["properties"], &properties) // there may be none
	for _, p := range properties {
		c.schema(p)
	}
	if items, ok := s["items"]; ok {
		c.schema(items)
	}
	for _, words := range []string{"anyOf", "allOf"} {
		var all []json.RawMessage
		_ = json.Unmarshal(s[words], &all) // likewise
		for _, one := range all {
			c.schema(one)
		}
	}
}
