package mcptool

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// emptySchema is for a tool that says nothing about its arguments.
var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// fitSchema makes a server's schema one that an agent takes, changing as little
// as will do. A schema that is fine is given back as it was written. Else
// what is missing is added ("type") and what only JavaScript understands is left
// out (a pattern that looks ahead): the server checks its arguments itself, the
// schema is for the model. What cannot be mended gives a reason.
func fitSchema(raw json.RawMessage) (json.RawMessage, string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return emptySchema, ""
	}
	if raw[0] != '{' {
		return nil, "the schema of its arguments is no object"
	}
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, "the schema of its arguments is no proper JSON: " + err.Error()
	}
	if accepted(raw) {
		return raw, ""
	}
	var schema map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&schema); err != nil {
		return nil, "the schema of its arguments is no object"
	}
	switch t := schema["type"].(type) {
	case nil:
		schema["type"] = "object"
	case []any:
		for _, one := range t {
			if one == "object" {
				schema["type"] = "object"
			}
		}
	}
	if schema["type"] != "object" {
		return nil, "the schema of its arguments does not describe an object"
	}
	dropPatterns(schema)
	mended, err := json.Marshal(schema)
	if err != nil || !accepted(mended) {
		if _, refused := schemacheck.Compile(mended); refused != nil {
			return nil, "the schema of its arguments cannot be used: " + refused.Error()
		}
		return nil, "the schema of its arguments cannot be understood"
	}
	return mended, ""
}

// dropPatterns leaves out regular expressions that Go does not know.
func dropPatterns(v any) {
	switch v := v.(type) {
	case map[string]any:
		if p, ok := v["pattern"].(string); ok {
			if _, err := regexp.Compile(p); err != nil {
				delete(v, "pattern")
			}
		}
		if m, ok := v["patternProperties"].(map[string]any); ok {
			for p := range m {
				if _, err := regexp.Compile(p); err != nil {
					delete(m, p)
				}
			}
		}
		for _, one := range v {
			dropPatterns(one)
		}
	case []any:
		for _, one := range v {
			dropPatterns(one)
		}
	}
}

// accepted asks what an agent asks, so that there is one rule.
func accepted(schema json.RawMessage) bool {
	return tool.CheckSchema(tool.Spec{Name: "tool", Schema: schema}) == nil
}
