package schema

import "slices"

// merge returns one schema for the constraints of both. It records problems for b where there is no
// common form, and takes b's annotations.
func (f *former) merge(a, b *node) *node {
	if len(a.keys) == 0 {
		return b
	}
	if len(b.keys) == 0 {
		return a
	}
	w := a.copied()
	f.made += len(a.keys) + len(b.keys)
	f.aside(a, b)
	for i, key := range b.keys {
		v, old := b.vals[i], w.get(key)
		switch {
		case old == nil:
			f.join(w, b, key, v)
		case annotates(key):
			w.set(key, v)
		case same(old, v):
		default:
			f.both(w, b, key, old, v)
		}
	}
	return w
}

// join adopts a keyword that the other schema does not have.
func (f *former) join(w, b *node, key string, v *node) {
	switch key {
	case "const":
		if e := w.get("enum"); e != nil {
			f.both(w, b, "enum", e, array(v))
			return
		}
	case "enum":
		if c := w.get("const"); c != nil {
			f.both(w, b, "const", array(c), v)
			return
		}
	case "then", "else":
		if w.has("if") && !b.has("if") {
			return // without meaning
		}
	case "minContains", "maxContains":
		if w.has("contains") {
			return // described with contains
		}
	}
	w.set(key, v)
}

// aside records that a schema's rule for other properties or items refers to its own names.
func (f *former) aside(a, b *node) {
	for _, pair := range [][2]*node{{a, b}, {b, a}} {
		rule := pair[0].get("additionalProperties")
		if rule == nil || rule.isTrue() {
			continue
		}
		own, others := pair[0].get("properties"), pair[1].get("properties")
		if others == nil && !pair[1].has("patternProperties") {
			continue
		}
		if pair[1].has("patternProperties") || slices.ContainsFunc(others.keys, func(k string) bool { return !own.has(k) }) {
			f.widen(pair[0], "additionalProperties", nil, "the parts of an allOf do not allow each other's properties")
			return
		}
	}
	if a.has("prefixItems") != b.has("prefixItems") && a.has("items") && b.has("items") {
		f.widen(b, "items", b.get("items"), "")
	} else if x, y := a.get("prefixItems"), b.get("prefixItems"); x != nil && y != nil && len(x.vals) != len(y.vals) {
		f.widen(b, "prefixItems", y, "")
	} else if a.has("prefixItems") && !b.has("prefixItems") && b.has("items") || b.has("prefixItems") && !a.has("prefixItems") && a.has("items") {
		f.widen(b, "items", nil, "what is said of the items holds for the first ones as well")
	}
}

// both merges two values of one keyword.
func (f *former) both(w, b *node, key string, old, v *node) {
	switch key {
	case "type":
		if t := f.commonTypes(old, v); t != nil {
			w.set(key, t)
			return
		}
	case "const":
		if !old.isArray() || !v.isArray() {
			old, v = array(old), array(v)
		}
		w.rename("const", "enum")
		key = "enum"
		w.set(key, old)
		if e := common(old, v); len(e.vals) > 0 {
			w.set(key, e)
			return
		}
	case "enum":
		if e := common(old, v); len(e.vals) > 0 {
			w.set(key, e)
			return
		}
	case "required":
		f.made += len(old.vals) + len(v.vals)
		w.set(key, unique(array(slices.Concat(old.vals, v.vals)...)))
		return
	case "properties", "patternProperties", "dependentSchemas":
		if old.isObject() && v.isObject() {
			w.set(key, f.union(old, v))
			return
		}
	case "items", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems":
		w.set(key, allOf(old, v))
		return
	case "prefixItems":
		if old.isArray() && v.isArray() {
			list := array()
			for i := range max(len(old.vals), len(v.vals)) {
				switch {
				case i >= len(old.vals):
					list.vals = append(list.vals, v.vals[i])
				case i >= len(v.vals):
					list.vals = append(list.vals, old.vals[i])
				default:
					list.vals = append(list.vals, allOf(old.vals[i], v.vals[i]))
				}
			}
			w.set(key, list)
			return
		}
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		if old.isNumber() && v.isNumber() {
			if float(v) > float(old) {
				w.set(key, v)
			}
			return
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		if old.isNumber() && v.isNumber() {
			if float(v) < float(old) {
				w.set(key, v)
			}
			return
		}
	case "uniqueItems":
		w.set(key, truth(old.isTrue() || v.isTrue()))
		return
	case "dependentRequired":
		if old.isObject() && v.isObject() && !slices.ContainsFunc(v.keys, old.has) {
			w.set(key, f.union(old, v))
			return
		}
	case "then", "else", "minContains", "maxContains":
		return // described with if and contains
	case "if", "contains":
		if key == "if" {
			f.widenTogether(b, key, "then", "else")
		} else {
			f.widenTogether(b, key, "minContains", "maxContains")
		}
		return
	}
	f.widen(b, key, v, "")
}

// allOf returns a schema with the constraints of both.
func allOf(a, b *node) *node {
	switch {
	case a.isTrue() || same(a, b):
		return b
	case b.isTrue() || a.isFalse():
		return a
	case b.isFalse():
		return b
	}
	w := object()
	w.up, w.step = b.up, b.step
	w.set("allOf", array(a, b))
	return w
}

// union joins two sets of named schemas.
func (f *former) union(a, b *node) *node {
	f.made += len(a.keys) + len(b.keys)
	w := a.copied()
	at := make(map[string]int, len(a.keys))
	for i, key := range a.keys {
		at[key] = i
	}
	for i, key := range b.keys {
		if n, ok := at[key]; ok {
			w.vals[n] = allOf(w.vals[n], b.vals[i])
			continue
		}
		w.keys, w.vals = append(w.keys, key), append(w.vals, b.vals[i])
	}
	return w
}

// common returns the values in both lists.
func common(a, b *node) *node {
	w := array()
	if !a.isArray() || !b.isArray() || len(a.vals)*len(b.vals) > 1<<20 {
		return w
	}
	for _, v := range a.vals {
		if slices.ContainsFunc(b.vals, func(o *node) bool { return same(v, o) }) {
			w.vals = append(w.vals, v)
		}
	}
	return w
}

// commonTypes returns the types that both allow; nil means none.
func (f *former) commonTypes(a, b *node) *node {
	x, y := typesOf(a), typesOf(b)
	w := array()
	for _, t := range x {
		switch {
		case slices.Contains(y, t), t == "integer" && slices.Contains(y, "number"):
			w.vals = append(w.vals, word(t))
		case t == "number" && slices.Contains(y, "integer"):
			w.vals = append(w.vals, word("integer"))
		}
	}
	switch w = unique(w); len(w.vals) {
	case 0:
		return nil
	case 1:
		return w.vals[0]
	default:
		return w
	}
}

// typesOf returns the types in a keyword's value.
func typesOf(t *node) []string {
	if t.isText() {
		return []string{t.text}
	}
	return t.texts()
}
