package schema

import (
	"slices"
	"strconv"
	"strings"
)

// top returns the form of the whole schema.
func (f *former) top(root *node) *node {
	n := root
	if n.isTrue() {
		n = object()
	}
	if !n.isObject() {
		f.fatal(root, "", "the schema allows nothing, or is none")
		return object()
	}
	f.open[root]++
	f.depth++
	w, done := f.plain(n, true)
	defer done()
	w = w.copied()
	if f.rules.Object {
		if t := w.get("type"); t != nil && (!t.isText() || t.text != "object") {
			f.fatal(w, "type", "the schema is not that of an object")
			return object()
		}
		w.first("type", word("object"))
		if !w.has("properties") {
			w.set("properties", object())
		}
	}
	var opened []*node
	defer func() {
		for _, t := range opened {
			f.open[t]--
		}
	}()
	for range 8 { // a single alternative may bring more
		for _, key := range []string{"anyOf", "oneOf"} {
			if v := w.get(key); v.isArray() && f.rules.Object && !f.staysAtTop(key) {
				w = f.lifted(w, key, v, &opened)
			}
		}
	}
	for _, key := range slices.Clone(w.keys) {
		if f.staysAtTop(key) {
			continue
		}
		if constrains(key) {
			f.widen(w, key, w.get(key), "")
		}
		w.drop(key)
	}
	hollow := f.rules.Hollow
	if f.rules.Object && len(w.get("properties").keys) == 0 {
		rules := *f.rules
		rules.Hollow = ""
		f.rules = &rules
		defer func() { f.rules.Hollow = hollow }()
	}
	return f.keywords(w)
}

// staysAtTop reports whether a keyword leads only to keywords that are accepted at the top.
func (f *former) staysAtTop(key string) bool {
	switch {
	case f.atTop(key):
		return true
	case key == "oneOf" && !f.knows(key):
		return f.atTop("anyOf")
	case key == "const" && !f.knows(key):
		return f.atTop("enum")
	default:
		return !f.knows(key) // described with the others
	}
}

// lifted returns an object with the properties of all its alternatives. Words describe which of them belong together.
func (f *former) lifted(w *node, key string, v *node, opened *[]*node) *node {
	const most = 64
	w = w.copied()
	w.drop(key)
	var alternatives []*node
	for _, s := range v.vals {
		if len(alternatives) == most {
			f.widen(w, key, v, "")
			return w
		}
		if a := f.fold(s, true, true, opened); !a.has("type") || allows(a, "object") {
			alternatives = append(alternatives, a)
		}
	}
	if len(alternatives) == 1 {
		return f.merge(w, alternatives[0])
	}
	f.widen(w, key, v, "")
	if len(alternatives) == 0 {
		return w
	}
	own := w.get("properties")
	props := own.copied()
	closed := true
	for _, a := range alternatives {
		closed = closed && a.get("additionalProperties").isFalse() && !a.has("patternProperties")
	}
	if !w.get("additionalProperties").isFalse() {
		f.offer(w, props, alternatives)
	}
	w.set("properties", props)
	if closed && !w.has("additionalProperties") {
		w.set("additionalProperties", truth(false))
	}
	var needed []*node
	for _, name := range alternatives[0].get("required").texts() {
		if !slices.ContainsFunc(alternatives, func(a *node) bool { return !slices.Contains(a.get("required").texts(), name) }) {
			needed = append(needed, word(name))
		}
	}
	if len(needed) > 0 {
		w.set("required", unique(array(slices.Concat(orEmpty(w.get("required")).vals, needed)...)))
	}
	return w
}

// offer adds the properties of alternatives to those of the object.
func (f *former) offer(w, props *node, alternatives []*node) {
	own := slices.Clone(props.keys)
	for _, a := range alternatives {
		for _, name := range a.get("properties").names() {
			if slices.Contains(own, name) || f.made > maxNodes {
				continue
			}
			if props.has(name) {
				continue
			}
			variants := array()
			for _, b := range alternatives {
				f.made++
				s := b.get("properties").get(name)
				switch {
				case s != nil && !slices.ContainsFunc(variants.vals, func(o *node) bool { return same(o, s) }):
					variants.vals = append(variants.vals, s)
				case s == nil && !b.get("additionalProperties").isFalse():
					f.narrow(w, "anyOf", "a property is described in some alternatives only")
				}
			}
			schema := variants.vals[0]
			if len(variants.vals) > 1 {
				schema = oneOfAll(variants)
			}
			props.keys, props.vals = append(props.keys, name), append(props.vals, schema)
		}
	}
}

// oneOfAll returns a schema that allows what any of the variants allows.
func oneOfAll(variants *node) *node {
	all := array()
	for _, s := range variants.vals {
		values := listed(s)
		if values == nil || slices.ContainsFunc(s.keys, func(k string) bool { return k != "const" && k != "enum" && constrains(k) }) {
			out := object()
			out.set("anyOf", variants)
			return out
		}
		for _, v := range values.vals {
			if !slices.ContainsFunc(all.vals, func(o *node) bool { return same(o, v) }) {
				all.vals = append(all.vals, v)
			}
		}
	}
	out := object()
	out.set("enum", all)
	return out
}

func (n *node) names() []string {
	if !n.isObject() {
		return nil
	}
	return n.keys
}

// reference returns the name of a reference's target in the form.
func (f *former) reference(w, ref *node) *node {
	t := f.resolve(ref)
	if t == nil {
		f.fatal(w, "$ref", "the schema refers to something that is not in it")
		return ref
	}
	if t == f.root && t.get("type").isText() && !t.has("anyOf") && !t.has("oneOf") {
		return word("#")
	}
	name, ok := f.names[t]
	if !ok {
		name = f.newName(t)
		f.names[t] = name
		f.kept = append(f.kept, t)
	}
	return word("#/$defs/" + name)
}

// newName returns a new definition name, made from the last step to the target.
func (f *former) newName(t *node) string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, t.step)
	if plain == "" {
		plain = "root"
	}
	plain = plain[:min(len(plain), 48)]
	name := plain
	for f.taken[name] > 0 {
		f.taken[plain]++
		name = plain + "_" + strconv.Itoa(f.taken[plain])
	}
	f.taken[name]++
	return name
}

// addDefinitions writes the referenced definitions, and those that they reference.
func (f *former) addDefinitions(top *node) {
	if len(f.kept) == 0 {
		return
	}
	defs := object()
	for len(f.kept) > 0 {
		t := f.kept[0]
		f.kept = f.kept[1:]
		defs.set(f.names[t], f.schema(t))
	}
	top.set("$defs", defs)
}

// measure checks a form against the vendor's limits.
func (f *former) measure(top *node) {
	l := &f.rules.Limits
	if l.Objects == 0 && l.Properties == 0 && l.Enums == 0 && l.Letters == 0 {
		return
	}
	var properties, enums, letters, deepest int
	var walk func(n *node, objects int)
	walk = func(n *node, objects int) {
		if !n.isObject() {
			for _, v := range n.vals {
				walk(v, objects)
			}
			return
		}
		if n.get("properties").isObject() && len(n.get("properties").keys) > 0 {
			objects++
			deepest = max(deepest, objects)
		}
		for i, key := range n.keys {
			v := n.vals[i]
			switch key {
			case "properties", "$defs":
				for _, name := range v.names() {
					letters += len(name)
				}
				if key == "properties" {
					properties += len(v.names())
				}
				for _, s := range v.vals {
					walk(s, objects)
				}
			case "enum":
				enums += len(v.vals)
				for _, one := range v.vals {
					letters += len(one.text)
				}
			case "const":
				letters += len(v.text)
			case "default", "examples", "example":
			default:
				walk(v, objects)
			}
		}
	}
	walk(top, 0)
	for _, c := range []struct {
		has, most int
		text      string
	}{
		{deepest, l.Objects, "objects stand deeper in one another than the model's server takes"},
		{properties, l.Properties, "there are more properties than the model's server takes"},
		{enums, l.Enums, "there are more values in enums than the model's server takes"},
		{letters, l.Letters, "names and values are longer in all than the model's server takes"},
	} {
		if c.most > 0 && c.has > c.most {
			f.fatal(f.root, "", c.text)
		}
	}
}
