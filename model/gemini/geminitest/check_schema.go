package geminitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// jsonWords are the keywords of a JSON schema that the API supports (api/generate-content, responseJsonSchema).
var jsonWords = []string{
	"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
	"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering",
}

// openWords are the keywords of the API's own schema (api/caching#Schema).
var openWords = []string{
	"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
	"maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
}

var jsonTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// schema checks a JSON schema.
func (c *checker) schema(raw []byte, at string, depth int) {
	if s := string(raw); s == "true" || s == "false" {
		return
	}
	o := c.object(raw, at, jsonWords...)
	if depth > 64 {
		c.fail("%s: A schema has too many levels of nesting", at)
		return
	}
	if o["$ref"] != nil {
		for k := range o {
			if !strings.HasPrefix(k, "$") {
				c.fail("%s: no other properties than those starting with a `$` may be set beside `$ref`", at)
			}
		}
	}
	if raw := o["type"]; raw != nil {
		var one string
		several := []string{}
		if json.Unmarshal(raw, &one) == nil {
			several = append(several, one)
		} else if json.Unmarshal(raw, &several) != nil {
			c.fail("%s.type: must be a string or an array of strings", at)
		}
		for _, t := range several {
			if !slices.Contains(jsonTypes, t) {
				c.fail("%s.type: unknown type %q", at, t)
			}
		}
	}
	for i, v := range c.list(o["enum"], at+".enum") {
		if s := string(v); s != "null" && s[0] != '"' && s[0] != '-' && (s[0] < '0' || s[0] > '9') {
			c.fail("%s.enum[%d]: only strings and numbers are supported", at, i)
		}
	}
	for _, k := range []string{"properties", "$defs"} {
		if o[k] == nil {
			continue
		}
		var members object
		if json.Unmarshal(o[k], &members) != nil {
			c.fail("Invalid value at '%s.%s'", at, k)
		}
		for name, v := range members {
			c.schema(v, at+"."+k+"."+name, depth+1)
		}
	}
	c.required(o, at)
	for _, k := range []string{"anyOf", "oneOf", "prefixItems"} {
		for i, v := range c.list(o[k], at+"."+k) {
			c.schema(v, fmt.Sprintf("%s.%s[%d]", at, k, i), depth+1)
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if o[k] != nil {
			c.schema(o[k], at+"."+k, depth+1)
		}
	}
}

// required checks that required names only defined properties.
func (c *checker) required(o object, at string) {
	var names []string
	var properties object
	if o["required"] == nil {
		return
	}
	if json.Unmarshal(o["required"], &names) != nil {
		c.fail("Invalid value at '%s.required'", at)
	}
	_ = json.Unmarshal(o["properties"], &properties) // an invalid value was reported before
	for i, name := range names {
		if properties[name] == nil {
			c.fail("* GenerateContentRequest.%s.required[%d]: property is not defined", at, i)
		}
	}
}

// openAPI checks a schema of the API's own kind.
func (c *checker) openAPI(raw []byte, at string) {
	o := c.object(raw, at, openWords...)
	switch t := strings.ToLower(c.str(o, at, "type")); t {
	case "string", "number", "integer", "boolean", "null":
	case "object":
		var members object
		if o["properties"] != nil && json.Unmarshal(o["properties"], &members) != nil {
			c.fail("Invalid value at '%s.properties'", at)
		}
		if len(members) == 0 {
			c.fail("* GenerateContentRequest.%s.properties: should be non-empty for OBJECT type", at)
		}
		for name, v := range members {
			c.openAPI(v, at+".properties["+name+"]")
		}
		c.required(o, at)
	case "array":
		if o["items"] == nil {
			c.fail("* GenerateContentRequest.%s.items: missing field.", at)
			return
		}
		c.openAPI(o["items"], at+".items")
	case "":
		if o["anyOf"] == nil {
			c.fail("* GenerateContentRequest.%s.type: must be specified", at)
		}
	default:
		c.fail("Invalid value at '%s.type', %q", at, t)
	}
	for i, v := range c.list(o["anyOf"], at+".any_of") {
		c.openAPI(v, fmt.Sprintf("%s.any_of[%d]", at, i))
	}
}
