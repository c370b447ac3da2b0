package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// plain returns a schema as one object of keywords in the spelling of 2020-12. It resolves references and allOf that
// the vendor does not accept. The caller must call done after it has made the schemas below.
func (f *former) plain(n *node, top bool) (w *node, done func()) {
	var opened []*node
	w = f.fold(n, top, false, &opened)
	return w, func() {
		for _, t := range opened {
			f.open[t]--
		}
	}
}

// fold is plain without done. A schema that becomes part of another (within) keeps no reference.
func (f *former) fold(n *node, top, within bool, opened *[]*node) *node {
	if !n.isObject() {
		return f.sentence(n)
	}
	w := f.modern(n)
	f.made += len(w.keys)
	if ref := w.get("$ref"); ref != nil && (within || !f.keeps(w, top)) {
		w.drop("$ref")
		if t := f.target(n, ref, opened); t != nil {
			w = f.merge(f.fold(t, top, true, opened), w)
		}
	}
	if all := w.get("allOf"); all != nil && (!f.knows("allOf") || top && !f.atTop("allOf")) {
		w.drop("allOf")
		own := w
		if !all.isArray() {
			f.fatal(n, "allOf", "the schema has an allOf that is no list")
			return w
		}
		for _, s := range all.vals {
			if f.made++; f.made > maxNodes {
				f.widen(s, "", nil, "the schema goes on, but is too large to be shown")
				break
			}
			w = f.merge(w, f.fold(s, top, true, opened))
		}
		w = w.copied()
		for i, key := range own.keys {
			if annotates(key) {
				w.set(key, own.vals[i])
			}
		}
	}
	return f.settled(w, within)
}

// sentence returns a boolean as a schema. Any other value is an error.
func (f *former) sentence(n *node) *node {
	w := object()
	w.up, w.step = n.up, n.step
	switch n.kind {
	case 't':
	case 'f':
		f.widen(n, "", nil, "no value is valid here")
	default:
		f.fatal(n, "", "there is something that is no schema")
	}
	return w
}

// settled turns unevaluatedProperties into additionalProperties if both mean the same. A schema that becomes part of
// another cannot keep the keyword, because there it does not see the other's properties.
func (f *former) settled(w *node, within bool) *node {
	if v := w.get("unevaluatedItems"); v != nil && within {
		f.widen(w, "unevaluatedItems", v, "")
		w.drop("unevaluatedItems")
	}
	v := w.get("unevaluatedProperties")
	if v == nil || f.knows("unevaluatedProperties") && !within {
		return w
	}
	if slices.ContainsFunc([]string{"anyOf", "oneOf", "allOf", "if", "dependentSchemas", "$ref"}, w.has) {
		if within {
			f.widen(w, "unevaluatedProperties", v, "")
			w.drop("unevaluatedProperties")
		}
		return w
	}
	if w.has("additionalProperties") {
		w.drop("unevaluatedProperties")
	} else {
		w.rename("unevaluatedProperties", "additionalProperties")
	}
	return w
}

// keeps reports whether a reference stays a reference.
func (f *former) keeps(w *node, top bool) bool {
	if !f.rules.Refs || top {
		return false
	}
	return len(w.keys) == 1 || !f.alone("$ref")
}

// target returns the schema that a resolved reference points to; nil if the recursion ends there.
func (f *former) target(n, ref *node, opened *[]*node) *node {
	t := f.resolve(ref)
	switch {
	case t == nil:
		f.fatal(n, "$ref", "the schema refers to something that is not in it")
		return nil
	case f.open[t] >= unroll:
		if slices.Contains(*opened, t) && f.open[t] == count(*opened, t) {
			return nil // it refers only to itself
		}
		if !f.room(Widened) {
			f.count++
			return nil
		}
		text := "the same again"
		if at := t.pointer(); at != "" {
			text += " as at " + at
		}
		f.widen(n, "$ref", nil, text)
		return nil
	case f.full || f.made > maxNodes:
		if !f.full {
			f.full = true
			f.widen(n, "$ref", nil, "the schema goes on, but is too large to be shown")
		} else {
			f.count++
		}
		return nil
	}
	f.open[t]++
	*opened = append(*opened, t)
	return t
}

func count(list []*node, t *node) (n int) {
	for _, o := range list {
		if o == t {
			n++
		}
	}
	return n
}

// gone are keywords that identify the schema itself or comment on it.
var gone = []string{
	"$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions",
}

// modern returns a copy of a schema in the spelling of 2020-12, without the keywords in gone.
func (f *former) modern(n *node) *node {
	w := n.copied()
	w.drop(gone...)
	w.rename("$dynamicRef", "$ref")
	w.rename("$recursiveRef", "$ref")
	f.draft4(w)
	f.tuples(w)
	f.dependencies(w)
	if v := w.get("nullable"); v != nil {
		w.drop("nullable")
		if t := w.get("type"); v.isTrue() && t.isText() {
			w.set("type", array(t, word("null")))
			if e := w.get("enum"); e.isArray() && !slices.ContainsFunc(e.vals, (*node).isNull) {
				c := e.copied()
				c.vals = append(c.vals, &node{kind: 'n', raw: []byte("null")})
				w.set("enum", c)
			}
		}
	}
	if t := w.get("type"); t.isArray() && !slices.ContainsFunc(t.vals, func(v *node) bool { return !v.isText() }) {
		if t = unique(t); len(t.vals) == 1 {
			t = t.vals[0]
		}
		w.set("type", t)
	}
	if r := w.get("required"); r != nil {
		switch {
		case !r.isArray(): // draft 3, and a common mistake: required inside a property
			w.drop("required")
		case len(r.vals) == 0:
			w.drop("required")
		default:
			w.set("required", unique(r))
		}
	}
	f.checked(w)
	return w
}

func unique(list *node) *node {
	seen := make(map[string]bool, len(list.vals))
	c := array()
	for _, v := range list.vals {
		if v.isText() && !seen[v.text] {
			seen[v.text] = true
			c.vals = append(c.vals, v)
		}
	}
	return c
}

var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// checked records values that are not valid as schemas.
func (f *former) checked(w *node) {
	if t := w.get("type"); t != nil {
		list := []*node{t}
		if t.isArray() {
			list = t.vals
		}
		for _, v := range list {
			if !v.isText() || !slices.Contains(types, v.text) {
				f.fatal(w, "type", "the schema names a type that JSON does not have")
				w.drop("type")
				return
			}
		}
		if len(list) == 0 {
			f.fatal(w, "type", "the schema names no type")
			w.drop("type")
		}
	}
	if r := w.get("$ref"); r != nil && !r.isText() {
		f.fatal(w, "$ref", "the schema has a reference that is no text")
		w.drop("$ref")
	}
	for _, key := range []string{"properties", "patternProperties"} {
		if v := w.get(key); v != nil && !v.isObject() {
			f.fatal(w, key, "the schema has "+key+" that are no object")
			w.drop(key)
		}
	}
}

// draft4 rewrites limits with a boolean exclusiveMinimum or exclusiveMaximum to exclusive limits.
func (f *former) draft4(w *node) {
	for _, pair := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		switch v := w.get(pair[0]); {
		case v.isFalse():
			w.drop(pair[0])
		case v.isTrue():
			limit := w.get(pair[1])
			w.drop(pair[0])
			if limit != nil {
				w.set(pair[1], limit)
				w.rename(pair[1], pair[0])
			}
		}
	}
}

// tuples rewrites a list in items to prefixItems.
func (f *former) tuples(w *node) {
	if v := w.get("items"); v.isArray() {
		w.drop("items")
		if !w.has("prefixItems") && len(v.vals) > 0 {
			w.set("prefixItems", v)
		}
		if rest := w.get("additionalItems"); rest != nil {
			w.set("items", rest)
		}
	}
	w.drop("additionalItems")
}

// dependencies splits the keyword of the older drafts into its two successors.
func (f *former) dependencies(w *node) {
	v := w.get("dependencies")
	if v == nil {
		return
	}
	w.drop("dependencies")
	names, schemas := object(), object()
	for i, key := range v.keys {
		if v.vals[i].isArray() {
			names.set(key, v.vals[i])
		} else {
			schemas.set(key, v.vals[i])
		}
	}
	if len(names.keys) > 0 && !w.has("dependentRequired") {
		w.set("dependentRequired", names)
	}
	if len(schemas.keys) > 0 && !w.has("dependentSchemas") {
		w.set("dependentSchemas", schemas)
	}
}

// resolve returns the target of a reference, or nil if it has none.
func (f *former) resolve(ref *node) *node {
	if t, ok := f.found[ref.text]; ok {
		return t
	}
	if f.found == nil {
		f.found = make(map[string]*node)
	}
	t := f.lookUp(ref.text)
	f.found[ref.text] = t
	return t
}

func (f *former) lookUp(ref string) *node {
	base, fragment, _ := strings.Cut(ref, "#")
	from := f.root
	if base != "" {
		f.index()
		if from = f.ids[base]; from == nil {
			return nil
		}
	}
	switch {
	case fragment == "":
		return from
	case fragment[0] != '/':
		f.index()
		return f.ids["#"+fragment]
	}
	for step := range strings.SplitSeq(fragment[1:], "/") {
		if s, err := url.PathUnescape(step); err == nil {
			step = s
		}
		step = strictjson.UnescapePointer(step)
		switch from.kind {
		case '{':
			from = from.get(step)
		case '[':
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(from.vals) {
				return nil
			}
			from = from.vals[i]
		default:
			return nil
		}
		if from == nil {
			return nil
		}
	}
	return from
}

// index collects the names that schemas give themselves.
func (f *former) index() {
	if f.ids != nil {
		return
	}
	f.ids = make(map[string]*node)
	var walk func(n *node)
	walk = func(n *node) {
		if n.kind == '{' {
			for _, key := range []string{"$id", "id"} {
				if v := n.get(key); v.isText() && v.text != "" {
					name := strings.TrimSuffix(v.text, "#")
					if _, taken := f.ids[name]; !taken {
						f.ids[name] = n
					}
				}
			}
			for _, key := range []string{"$anchor", "$dynamicAnchor"} {
				if v := n.get(key); v.isText() {
					if _, taken := f.ids["#"+v.text]; !taken {
						f.ids["#"+v.text] = n
					}
				}
			}
		}
		for _, v := range n.vals {
			walk(v)
		}
	}
	walk(f.root)
}

// shown returns a constraint as words for a model show it, without references. It returns nil if that would be long.
func (f *former) shown(n *node) []byte {
	const most, long = 160, 1 << 10
	left := most
	var show func(n *node, depth int) *node
	show = func(n *node, depth int) *node {
		if left--; left < 0 || depth > 12 {
			return truth(true)
		}
		c := &node{kind: n.kind, raw: n.raw, text: n.text}
		for i, v := range n.vals {
			if n.kind == '{' && n.keys[i] == "$ref" && v.isText() {
				if t := f.resolve(v); t != nil {
					return show(t, depth+3)
				}
			}
			if n.kind == '{' {
				if slices.Contains(gone, n.keys[i]) {
					continue
				}
				c.keys = append(c.keys, n.keys[i])
			}
			c.vals = append(c.vals, show(v, depth+1))
		}
		return c
	}
	c := show(n, 0)
	if left < 0 {
		return nil
	}
	if b := c.bytes(); len(b) <= long {
		return b
	}
	return nil
}
