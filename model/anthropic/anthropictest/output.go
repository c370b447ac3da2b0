package anthropictest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var generations = regexp.MustCompile(`^claude(?:-[a-z]+)*-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`)

// late returns a model's generation: 405 for claude-sonnet-4-5. A name without a number is new.
func late(model string) int {
	g := generations.FindStringSubmatch(model)
	if g == nil {
		return 999
	}
	major, _ := strconv.Atoi(g[1]) // the expression matches digits only
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// output checks the answer's schema (build-with-claude/structured-outputs, "JSON Schema limitations").
func (c *checker) output(o object) {
	raw, ok := o["output_config"]
	if !ok {
		return
	}
	config := c.object(raw, "output_config", "format", "effort", "task_budget")
	if config["effort"] != nil {
		c.effort = c.str(config, "output_config", "effort")
		if words := c.efforts(); len(words) == 0 {
			c.fail("This model does not support the effort parameter.")
		} else if !slices.Contains(words, c.effort) {
			c.fail("output_config.effort: '%s' is not supported on this model. Supported: %s", c.effort, strings.Join(words, ", "))
		}
	}
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
	c.held(f["schema"])
}

// efforts returns the efforts that the model accepts (build-with-claude/effort#effort-levels).
func (c *checker) efforts() []string {
	switch g := late(c.model); {
	case g == 405 && strings.Contains(c.model, "opus"):
		return []string{"low", "medium", "high"}
	case g < 406:
		return nil
	case g == 406:
		return []string{"low", "medium", "high", "max"}
	default:
		return []string{"low", "medium", "high", "xhigh", "max"}
	}
}

// held checks the schema of an answer or of a strict tool.
func (c *checker) held(raw []byte) {
	var top object
	_ = json.Unmarshal(raw, &top) // below, anything but an object is refused
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
	c.schema(raw)
}

// The keywords that output schemas may have.
var (
	schemaWords = []string{
		"$ref", "$defs", "definitions", "type", "anyOf", "oneOf", "allOf", "description", "title", "enum", "const", "default", "format",
		"pattern", "properties", "additionalProperties", "required", "items", "minItems",
	}
	schemaTypes   = []string{`"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `"boolean"`, `"null"`}
	schemaFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// schema checks a schema and its subschemas.
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
	_ = json.Unmarshal(s["properties"], &properties) // it may be missing
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
