package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// conforms checks a form against the rules, with other code than [Form].
func conforms(form []byte, r *Rules) error {
	var top map[string]any
	if err := json.Unmarshal(form, &top); err != nil {
		return err
	}
	for k := range top {
		if slices.Contains(r.NotTop, k) || r.Top != nil && !slices.Contains(r.Top, k) {
			return fmt.Errorf("%q stands at the top", k)
		}
	}
	if _, ok := top["properties"].(map[string]any); r.Object && (top["type"] != "object" || !ok) {
		return errors.New("the top is no object with properties")
	}
	return conformsBelow(top, r, top)
}

func conformsBelow(v any, r *Rules, top map[string]any) error {
	s, ok := v.(map[string]any)
	if !ok {
		if r.Keywords != nil {
			return fmt.Errorf("%v is no schema to a vendor who knows few keywords", v)
		}
		return nil
	}
	_, hasType := s["type"]
	_, hasAny := s["anyOf"]
	_, hasRef := s["$ref"]
	if r.Typed && !hasType && !hasAny && !hasRef {
		return fmt.Errorf("%v has no type", s)
	}
	if list, ok := s["type"].([]any); ok && (r.OneType || len(list) < 2) {
		return fmt.Errorf("%v has types", s)
	}
	object := s["type"] == "object"
	if list, ok := s["type"].([]any); ok {
		object = slices.Contains(list, any("object"))
	}
	if r.Closed && object && s["additionalProperties"] != false {
		return fmt.Errorf("%v is open", s)
	}
	if r.Items && s["type"] == "array" && s["items"] == nil {
		return fmt.Errorf("%v says nothing of its items", s)
	}
	props, _ := s["properties"].(map[string]any)
	needed, _ := s["required"].([]any)
	if r.Complete && len(props) != len(needed) {
		return fmt.Errorf("%v does not require all of %v", needed, props)
	}
	for _, n := range needed {
		if _, ok := props[n.(string)]; r.Defined && !ok {
			return fmt.Errorf("%v requires what is not described", s)
		}
	}
	for k, v := range s {
		if len(s) > 1 && slices.Contains(r.Alone, k) {
			return fmt.Errorf("%q is not alone in %v", k, s)
		}
		if r.Keywords != nil && !slices.Contains(r.Keywords, k) && (k != "$defs" || !r.Refs) {
			return fmt.Errorf("%q is not known", k)
		}
		switch k {
		case "$ref":
			if !r.Refs {
				return errors.New("there is a reference")
			}
			name, defined := strings.CutPrefix(v.(string), "#/$defs/")
			defs, _ := top["$defs"].(map[string]any)
			if _, ok := defs[name]; v != "#" && (!defined || !ok) {
				return fmt.Errorf("%v is not defined", v)
			}
		case "format":
			if r.Formats != nil && !slices.Contains(r.Formats, v.(string)) {
				return fmt.Errorf("the format %v is not known", v)
			}
		case "properties", "$defs", "patternProperties", "dependentSchemas":
			for name, sub := range v.(map[string]any) {
				if k == "properties" && r.Name != nil && !r.Name.MatchString(name) {
					return fmt.Errorf("a property has the name %q", name)
				}
				if err := conformsBelow(sub, r, top); err != nil {
					return err
				}
			}
		case "items", "not", "if", "then", "else", "contains", "propertyNames":
			if err := conformsBelow(v, r, top); err != nil {
				return err
			}
		case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
			if _, yes := v.(bool); yes {
				continue
			}
			if err := conformsBelow(v, r, top); err != nil {
				return err
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for _, sub := range v.([]any) {
				if err := conformsBelow(sub, r, top); err != nil {
					return err
				}
			}
		case "enum":
			for _, one := range v.([]any) {
				_, text := one.(string)
				_, number := one.(float64)
				_, list := one.([]any)
				_, object := one.(map[string]any)
				if r.Enum == Strings && !text || r.Enum == StringsAndNumbers && !text && !number || r.Enum == Scalars && (list || object) {
					return fmt.Errorf("the enum has %v", one)
				}
			}
		}
	}
	return nil
}
