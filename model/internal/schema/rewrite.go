package schema

import "slices"

// alternatives writes constants and alternatives in the vendor's way.
func (f *former) alternatives(w *node) *node {
	w = w.copied()
	if v := w.get("const"); v != nil && !f.knows("const") && f.knows("enum") {
		w.drop("const")
		if e := w.get("enum"); e == nil {
			w.set("enum", array(v))
		} else if c := common(array(v), e); len(c.vals) > 0 {
			w.set("enum", c)
		}
	}
	if v := w.get("oneOf"); v.isArray() && !f.knows("oneOf") && f.knows("anyOf") {
		if w.has("anyOf") {
			f.widen(w, "oneOf", v, "")
			w.drop("oneOf")
			return w
		}
		w.rename("oneOf", "anyOf")
		if !f.apart(v.vals) {
			f.widen(w, "oneOf", nil, "exactly one of the alternatives holds")
		}
	}
	return w
}

// apart reports whether clearly no value is valid under two of the schemas: their types differ, or a property
// distinguishes them.
func (f *former) apart(schemas []*node) bool {
	const most = 64
	if len(schemas) > most {
		return false
	}
	seen := make([]*node, len(schemas))
	for i, s := range schemas {
		if r := s.get("$ref"); r.isText() {
			if s = f.resolve(r); s == nil {
				return false
			}
		}
		if !s.isObject() || s.has("nullable") {
			return false
		}
		seen[i] = s
	}
	for i, a := range seen {
		for _, b := range seen[:i] {
			if !differ(a, b) {
				return false
			}
		}
	}
	return true
}

// differ reports whether clearly no value is valid under both schemas.
func differ(a, b *node) bool {
	x, y := typesOf(orEmpty(a.get("type"))), typesOf(orEmpty(b.get("type")))
	if len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, func(t string) bool { return overlaps(t, y) }) {
		return true
	}
	if len(x) != 1 || x[0] != "object" || len(y) != 1 || y[0] != "object" {
		return valuesDiffer(a, b)
	}
	theirs := b.get("required").texts()
	for _, name := range a.get("required").texts() {
		if slices.Contains(theirs, name) && valuesDiffer(a.get("properties").get(name), b.get("properties").get(name)) {
			return true
		}
	}
	return false
}

func orEmpty(n *node) *node {
	if n == nil {
		return array()
	}
	return n
}

func overlaps(t string, types []string) bool {
	return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number") || t == "number" && slices.Contains(types, "integer")
}

// valuesDiffer reports whether both schemas list values and have none in common.
func valuesDiffer(a, b *node) bool {
	x, y := listed(a), listed(b)
	return x != nil && y != nil && len(x.vals)*len(y.vals) < 1<<12 && len(common(x, y).vals) == 0
}

// listed returns the values that a schema lists; nil if it lists none.
func listed(n *node) *node {
	if c := n.get("const"); c != nil {
		return array(c)
	}
	if e := n.get("enum"); e.isArray() && len(e.vals) > 0 {
		return e
	}
	return nil
}

// rewritten returns the form of an equivalent schema that the vendor accepts. It returns nil if the schema itself is
// accepted.
func (f *former) rewritten(w *node) *node {
	if f.rules.Nullable {
		if form := f.withoutNull(w); form != nil {
			return form
		}
	}
	either := w.get("anyOf")
	if either != nil && f.alone("anyOf") && len(w.keys) > 1 {
		return f.schema(f.spread(w, either, nil))
	}
	if list := typesOf(orEmpty(w.get("type"))); len(list) > 1 && f.rules.OneType {
		if either != nil {
			return f.schema(f.spread(w, either, annotates))
		}
		return f.schema(f.split(w, list))
	}
	return nil
}

// spread copies the keywords beside alternatives into each of them, except keywords for which stays is true.
func (f *former) spread(w, either *node, stays func(string) bool) *node {
	base, out := part(w), part(w)
	for i, key := range w.keys {
		switch {
		case key == "anyOf":
		case stays != nil && stays(key):
			out.set(key, w.vals[i])
		default:
			base.set(key, w.vals[i])
		}
	}
	list := array()
	for _, s := range either.vals {
		f.made += len(base.keys)
		list.vals = append(list.vals, allOf(base, s))
	}
	out.set("anyOf", list)
	return out
}

// part returns an empty schema in the place of w.
func part(w *node) *node { return &node{kind: '{', up: w.up, step: w.step} }

// about maps keywords to the type that they constrain.
var about = map[string]string{
	"properties": "object", "patternProperties": "object", "additionalProperties": "object", "unevaluatedProperties": "object",
	"propertyNames": "object", "required": "object", "minProperties": "object", "maxProperties": "object",
	"dependentRequired": "object", "dependentSchemas": "object",
	"items": "array", "prefixItems": "array", "unevaluatedItems": "array", "contains": "array", "minContains": "array",
	"maxContains": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
	"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
	"multipleOf": "number", "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number",
}

// split returns one alternative for each type.
func (f *former) split(w *node, list []string) *node {
	out, alternatives := part(w), array()
	for i, key := range w.keys {
		if annotates(key) && about[key] == "" {
			out.set(key, w.vals[i])
		}
	}
	for _, t := range list {
		one := part(w)
		one.set("type", word(t))
		for i, key := range w.keys {
			v := w.vals[i]
			switch kind := about[key]; {
			case key == "type", annotates(key):
				continue
			case key == "enum":
				if v = ofType(v, t); len(v.vals) == 0 {
					one = nil
				}
			case key == "const":
				if !isType(v, t) {
					one = nil
				}
			case kind != "" && kind != t && (kind != "number" || t != "integer"):
				continue
			}
			if one == nil {
				break
			}
			f.made++
			one.set(key, v)
		}
		if one != nil {
			alternatives.vals = append(alternatives.vals, one)
		}
	}
	switch len(alternatives.vals) {
	case 0:
		f.widen(w, "enum", nil, "no value is valid here")
	case 1:
		for i, key := range alternatives.vals[0].keys {
			out.set(key, alternatives.vals[0].vals[i])
		}
	default:
		out.set("anyOf", alternatives)
	}
	return out
}

func isType(v *node, t string) bool {
	switch v.kind {
	case '{':
		return t == "object"
	case '[':
		return t == "array"
	case '"':
		return t == "string"
	case '0':
		_, ok := whole(v)
		return t == "number" || t == "integer" && ok
	case 'n':
		return t == "null"
	default:
		return t == "boolean"
	}
}

func ofType(list *node, t string) *node {
	w := array()
	for _, v := range list.vals {
		if isType(v, t) {
			w.vals = append(w.vals, v)
		}
	}
	return w
}

// withoutNull returns the form of a schema that allows null: the form without null, and the keyword nullable. It
// returns nil if the schema does not allow null.
func (f *former) withoutNull(w *node) *node {
	list := typesOf(orEmpty(w.get("type")))
	values := listed(w)
	typed, valued := len(list) > 0, values != nil
	mayType := !typed || slices.Contains(list, "null")
	mayValue := !valued || slices.ContainsFunc(values.vals, (*node).isNull)
	either := w.get("anyOf")
	rest := w.copied()
	var nulls bool
	switch {
	case either.isArray() && slices.ContainsFunc(either.vals, f.isNullSchema):
		alternatives := array()
		for _, s := range either.vals {
			if !f.isNullSchema(s) {
				alternatives.vals = append(alternatives.vals, s)
			}
		}
		nulls = mayType && mayValue
		rest.drop("anyOf")
		switch len(alternatives.vals) {
		case 0:
			return nil
		case 1:
			rest = allOf(alternatives.vals[0], rest) // what both describe wins
		default:
			rest.set("anyOf", alternatives)
		}
	case either == nil && typed && len(list) > 1 && slices.Contains(list, "null"):
		nulls = mayValue
		types := array()
		for _, t := range list {
			if t != "null" {
				types.vals = append(types.vals, word(t))
			}
		}
		if len(types.vals) == 1 {
			types = types.vals[0]
		}
		rest.set("type", types)
		f.dropNull(rest)
	case either == nil && !typed && valued && mayValue && len(values.vals) > 1:
		nulls = true
		f.dropNull(rest)
	default:
		return nil
	}
	form := f.schema(rest)
	if nulls {
		f.nullable(form)
	}
	return form
}

// dropNull removes null from an enum.
func (f *former) dropNull(w *node) {
	e := w.get("enum")
	if !e.isArray() {
		return
	}
	c := array(slices.DeleteFunc(slices.Clone(e.vals), (*node).isNull)...)
	if len(c.vals) > 0 {
		w.set("enum", c)
	}
}

func (f *former) isNullSchema(s *node) bool {
	if c := s.get("const"); c.isNull() {
		return true
	}
	t := s.get("type")
	return t.isText() && t.text == "null" || t.isArray() && len(t.vals) == 1 && t.vals[0].text == "null"
}

// nullable makes a form allow null.
func (f *former) nullable(form *node) {
	either := form.get("anyOf")
	if either == nil || !f.alone("anyOf") {
		form.set("nullable", truth(true))
		return
	}
	for _, s := range either.vals {
		f.nullable(s)
	}
}

// typed adds a type if the vendor requires one, and removes keywords about types that the schema does not allow.
func (f *former) typed(w *node) *node {
	w = f.inferred(w)
	list := typesOf(orEmpty(w.get("type")))
	if len(list) == 0 || f.rules.Keywords == nil {
		return w
	}
	w = w.copied()
	for _, key := range slices.Clone(w.keys) {
		t := about[key]
		if t != "" && !slices.Contains(list, t) && (t != "number" || !slices.Contains(list, "integer")) {
			w.drop(key)
		}
	}
	return w
}

// inferred returns a schema with the type that its keywords constrain.
func (f *former) inferred(w *node) *node {
	if !f.rules.Typed || w.has("type") || w.has("anyOf") || w.has("$ref") {
		return w
	}
	var list []string
	add := func(t string) {
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	exact := false
	if values := listed(w); values != nil {
		exact = true
		for _, v := range values.vals {
			for _, t := range types {
				if t != "integer" && isType(v, t) {
					add(t)
				}
			}
		}
	} else {
		for _, key := range w.keys {
			if t := about[key]; t != "" {
				add(t)
			}
		}
	}
	if len(list) == 0 {
		return w
	}
	if !exact {
		f.narrow(w, "type", "the schema does not say of what type a value is")
	}
	w = w.copied()
	t := word(list[0])
	if len(list) > 1 {
		t = array()
		for _, s := range list {
			t.vals = append(t.vals, word(s))
		}
	}
	w.first("type", t)
	return w
}

// allows reports whether a schema's type is or includes t.
func allows(w *node, t string) bool {
	return slices.Contains(typesOf(orEmpty(w.get("type"))), t)
}

// arrays describes the items of arrays in the vendor's way.
func (f *former) arrays(w *node) *node {
	if first := w.get("prefixItems"); first.isArray() && !f.knows("prefixItems") {
		w = w.copied()
		w.drop("prefixItems")
		f.widen(w, "prefixItems", first, "")
		rest := w.get("items")
		most, bounded := whole(w.get("maxItems"))
		bounded = bounded && most <= len(first.vals)
		if rest.isFalse() && !bounded {
			w.set("maxItems", number(len(first.vals)))
			bounded = true
		}
		list := array()
		for _, s := range first.vals {
			if !slices.ContainsFunc(list.vals, func(o *node) bool { return same(s, o) }) && len(list.vals) < 64 {
				list.vals = append(list.vals, s)
			}
		}
		switch {
		case bounded:
		case rest == nil || rest.isTrue() || len(first.vals) > 64:
			list = nil
		default:
			list.vals = append(list.vals, rest)
		}
		switch {
		case list == nil || slices.ContainsFunc(list.vals, (*node).isTrue):
			w.drop("items")
		case len(list.vals) == 1:
			w.set("items", list.vals[0])
		default:
			either := object()
			either.up, either.step = first.up, first.step
			either.set("anyOf", list)
			w.set("items", either)
		}
	}
	if v := w.get("items"); v.isFalse() && (f.rules.Items || !f.knows("not")) {
		w = w.copied()
		w.set("items", everything(w))
		first := len(orEmpty(w.get("prefixItems")).vals)
		most, bounded := whole(w.get("maxItems"))
		switch {
		case bounded && most <= first:
		case f.knows("maxItems"):
			w.set("maxItems", number(first))
		default:
			f.widen(w, "items", v, "")
		}
	}
	if f.rules.Items && allows(w, "array") && !w.has("items") {
		w = w.copied()
		w.set("items", everything(w))
	}
	return w
}

// everything returns a schema that allows everything, in the place of w.
func everything(w *node) *node {
	t := truth(true)
	t.up, t.step = w.up, w.step
	return t
}

// objects describes the properties of objects in the vendor's way.
func (f *former) objects(w *node) *node {
	if f.rules.Name != nil {
		w = f.named(w)
	}
	if v := w.get("patternProperties"); v != nil && !f.knows("patternProperties") && !f.rules.Closed {
		if rest := w.get("additionalProperties"); rest != nil && !rest.isTrue() {
			w = w.copied()
			f.widen(w, "additionalProperties", rest, "") // it would forbid properties that patterns allow
			w.drop("additionalProperties")
		}
	}
	if f.rules.Defined {
		w = f.defined(w)
	}
	if f.rules.Closed && allows(w, "object") {
		w = f.closed(w)
	}
	return w
}

// named removes properties with names that the vendor does not accept.
func (f *former) named(w *node) *node {
	props := w.get("properties")
	if !props.isObject() || !slices.ContainsFunc(props.keys, func(s string) bool { return !f.rules.Name.MatchString(s) }) {
		return w
	}
	w = w.copied()
	kept, omitted := object(), object()
	for i, name := range props.keys {
		to := kept
		if !f.rules.Name.MatchString(name) {
			to = omitted
		}
		to.set(name, props.vals[i])
	}
	f.widen(w, "properties", omitted, "")
	w.set("properties", kept)
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v := w.get(key); v != nil && !v.isTrue() { // it would forbid the removed properties
			f.widen(w, key, v, "")
			w.drop(key)
		}
	}
	if r := w.get("required"); r.isArray() {
		list := array(slices.DeleteFunc(slices.Clone(r.vals), func(v *node) bool { return omitted.has(v.text) })...)
		if w.set("required", list); len(list.vals) == 0 {
			w.drop("required")
		}
	}
	return w
}

// defined adds a schema for each required property without one.
func (f *former) defined(w *node) *node {
	r := w.get("required")
	props := w.get("properties")
	missing := slices.DeleteFunc(r.texts(), props.has)
	if len(missing) == 0 {
		return w
	}
	w = w.copied()
	into := object()
	if props.isObject() {
		into = props.copied()
	}
	rest := w.get("additionalProperties")
	if rest.isFalse() {
		f.widen(w, "required", nil, "a property is required that is not allowed")
	}
	if rest == nil || rest.isFalse() {
		rest = everything(w)
	}
	for _, name := range missing {
		f.made++
		into.set(name, rest)
	}
	w.set("properties", into)
	return w
}

// closed forbids properties that are not named.
func (f *former) closed(w *node) *node {
	props, rest := w.get("properties"), w.get("additionalProperties")
	empty := !props.isObject() || len(props.keys) == 0
	open := rest == nil || rest.isTrue() || rest.isObject() && len(rest.keys) == 0
	switch {
	case rest.isObject() && len(rest.keys) > 0, open && empty:
		f.fatal(w, "additionalProperties", "there is an object whose properties may have any name")
	case w.has("patternProperties"):
		f.fatal(w, "patternProperties", "there is an object whose properties have names by a pattern")
	case open:
		f.narrow(w, "additionalProperties", "objects cannot have properties beyond those that are named")
	}
	for _, name := range w.get("required").texts() {
		if !props.has(name) {
			f.fatal(w, "required", "a property is required that is not described")
			break
		}
	}
	w = w.copied()
	if !props.isObject() {
		w.set("properties", object())
	}
	w.drop("unevaluatedProperties", "patternProperties")
	w.set("additionalProperties", truth(false))
	return w
}

// complete writes the properties of an object and requires all of them.
func (f *former) complete(out, w *node, v *node) {
	required := w.get("required").texts()
	into, all := object(), array()
	for _, name := range required {
		// If an object is allowed, a required name without a description is fatal. Otherwise it has no meaning.
		if v.has(name) {
			all.vals = append(all.vals, word(name))
		}
	}
	for i, name := range v.keys {
		form := f.schema(v.vals[i])
		switch {
		case slices.Contains(required, name):
			f.always[name] = f.always[name] || mayNull(form)
		case !nulls(form):
			f.add(Problem{
				Kind: Nulled, Keyword: "required", At: f.at(v.vals[i], Nulled), Text: "a property that may be missing is null instead", Name: name,
			})
			form = orNull(form)
			fallthrough
		default:
			all.vals = append(all.vals, word(name))
		}
		into.keys, into.vals = append(into.keys, name), append(into.vals, form)
	}
	out.set("properties", into)
	out.set("required", all)
}

// nulls reports whether a form explicitly allows null.
func nulls(form *node) bool {
	if values := listed(form); values != nil && !slices.ContainsFunc(values.vals, (*node).isNull) {
		return false
	}
	if either := form.get("anyOf"); either != nil {
		return (!form.has("type") || allows(form, "null")) && slices.ContainsFunc(either.vals, nulls)
	}
	return allows(form, "null")
}

// mayNull reports whether a form allows null or does not exclude it.
func mayNull(form *node) bool {
	if form.has("$ref") {
		return true
	}
	if either := form.get("anyOf"); either != nil {
		return slices.ContainsFunc(either.vals, mayNull)
	}
	return !form.has("type") || allows(form, "null")
}

// nameNulls sets [Problem].Name where null means only that a property is missing.
func (f *former) nameNulls() {
	for i := range f.problems {
		if p := &f.problems[i]; p.Name != "" && (f.lost || f.always[p.Name]) {
			p.Name = ""
		}
	}
}

// orNull returns a form that also allows null.
func orNull(form *node) *node {
	none := &node{kind: 'n', raw: []byte("null")}
	form = form.copied()
	beside := func(k string) bool { return k != "anyOf" && constrains(k) }
	if either := form.get("anyOf"); either.isArray() && !slices.ContainsFunc(form.keys, beside) {
		null := object()
		null.set("type", word("null"))
		form.set("anyOf", array(slices.Concat(either.vals, []*node{null})...))
		return form
	}
	t := form.get("type")
	if t == nil || form.has("anyOf") {
		null, out := object(), object()
		null.set("type", word("null"))
		out.set("anyOf", array(form, null))
		return out
	}
	list := array()
	for _, s := range typesOf(t) {
		list.vals = append(list.vals, word(s))
	}
	list.vals = append(list.vals, word("null"))
	form.set("type", list)
	if c := form.get("const"); c != nil {
		form.rename("const", "enum")
		form.set("enum", array(c))
	}
	if e := form.get("enum"); e.isArray() {
		form.set("enum", array(slices.Concat(e.vals, []*node{none})...))
	}
	return form
}
