package openapitool

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// allOf merges the schemas of allOf into out. What cannot be merged stays in an allOf.
func (c *conversion) allOf(out map[string]any, all []any, depth int) error {
	several := len(all) > 1 || out["properties"] != nil
	for _, one := range all {
		member, err := c.member(one, depth)
		if err != nil {
			return err
		}
		if member != nil {
			merge(out, member)
		}
	}
	if several && out["additionalProperties"] == false {
		delete(out, "additionalProperties") // one schema means its own properties, and would refuse the others'
	}
	return nil
}

// member converts one schema of allOf. A reference is replaced by its schema, or stays if that contains this one.
func (c *conversion) member(v any, depth int) (map[string]any, error) {
	if err := c.enter(depth); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		if v == true {
			return nil, nil //nolint:nilnil // it allows everything
		}
		return nil, errNoSchema
	}
	ref, ok := m["$ref"].(string)
	if !ok {
		return c.object(m, depth+1)
	}
	if i := slices.Index(c.within, ref); i >= c.chain {
		return nil, errSelfAll
	} else if i >= 0 { // such as a node whose parent is a node: a copy would have no end
		again, err := c.reference(ref, map[string]any{"$ref": ref}, depth)
		if err != nil {
			return nil, err
		}
		out, ok := again.(map[string]any)
		if !ok {
			return nil, errNoSchema
		}
		return out, nil
	}
	raw, err := c.doc.at(ref)
	if err != nil {
		return nil, err
	}
	target, err := decode(raw)
	if err != nil {
		return nil, err
	}
	c.within = append(c.within, ref)
	defer func() { c.within = c.within[:len(c.within)-1] }()
	return c.member(target, depth+1)
}

// merge adds the keywords of a schema that also applies.
func merge(out, add map[string]any) {
	var left map[string]any
	for k, v := range add {
		have, has := out[k]
		if !has {
			out[k] = v
			continue
		}
		if merged, ok := mergeKeyword(k, have, v); ok {
			out[k] = merged
			continue
		}
		if left == nil {
			left = map[string]any{}
		}
		left[k] = v
	}
	if left != nil {
		rest, _ := out["allOf"].([]any)
		out["allOf"] = append(slices.Clone(rest), left)
	}
}

// mergeKeyword returns the value of a keyword that two schemas have. ok is false if one value cannot say both.
func mergeKeyword(k string, a, b any) (merged any, ok bool) {
	if same(a, b) {
		return a, true
	}
	switch k {
	case "title", "description", "default", "format":
		return a, true // the outer or first one
	case "required":
		return union(a, b)
	case "properties":
		return mergeProperties(a, b)
	case "additionalProperties":
		// Each schema means its own properties. Together they would refuse each other's.
		return true, true
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return tighter(a, b, false)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return tighter(a, b, true)
	case "enum":
		return intersection(a, b)
	case "allOf":
		x, okX := a.([]any)
		y, okY := b.([]any)
		return slices.Concat(x, y), okX && okY
	}
	return nil, false
}

func mergeProperties(a, b any) (any, bool) {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if !okX || !okY {
		return nil, false
	}
	out := make(map[string]any, len(x)+len(y))
	maps.Copy(out, x)
	for name, one := range y {
		have, has := out[name]
		if !has || same(have, one) {
			out[name] = one
			continue
		}
		first, ok1 := have.(map[string]any)
		second, ok2 := one.(map[string]any)
		if !ok1 || !ok2 || first["$ref"] != nil || second["$ref"] != nil {
			out[name] = map[string]any{"allOf": []any{have, one}}
			continue
		}
		both := make(map[string]any, len(first))
		maps.Copy(both, first)
		merge(both, second)
		out[name] = both
	}
	return out, true
}

func union(a, b any) (any, bool) {
	x, okX := a.([]any)
	y, okY := b.([]any)
	if !okX || !okY {
		return nil, false
	}
	out := slices.Clone(x)
	for _, one := range y {
		if !slices.ContainsFunc(out, func(v any) bool { return same(v, one) }) {
			out = append(out, one)
		}
	}
	return out, true
}

func intersection(a, b any) (any, bool) {
	x, okX := a.([]any)
	y, okY := b.([]any)
	if !okX || !okY || len(x)*len(y) > 1<<16 {
		return nil, false
	}
	var out []any
	for _, one := range x {
		if slices.ContainsFunc(y, func(v any) bool { return same(v, one) }) {
			out = append(out, one)
		}
	}
	return out, len(out) > 0
}

// tighter returns the bound that allows less.
func tighter(a, b any, smaller bool) (any, bool) {
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return nil, false
	}
	if (x < y) == smaller {
		return a, true
	}
	return b, true
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil
}
