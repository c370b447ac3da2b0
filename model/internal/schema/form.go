package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Form returns a schema in the form of the rules, and the problems: what the form does not express.
// There is no form if a problem is [Fatal]. A missing schema and the schema true allow everything,
// or every object if the rules require an object at the top.
//
// The form never shares memory with schema.
func Form(schema json.RawMessage, rules *Rules) (form json.RawMessage, problems []Problem) {
	f := &former{rules: rules, open: make(map[*node]int), names: make(map[*node]string), taken: make(map[string]int), always: make(map[string]bool)}
	given := bytes.TrimSpace(schema)
	if len(given) == 0 {
		given = []byte("{}")
	}
	if len(given) > maxInput {
		return nil, []Problem{{Kind: Fatal, Text: "the schema is larger than 1 MiB"}}
	}
	root, err := parse(given)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, []Problem{{Kind: Fatal, Text: "the schema has too many parts"}}
	case err != nil:
		return nil, []Problem{{Kind: Fatal, Text: "the schema is no JSON that can be read in one way only"}}
	}
	f.root = root
	top := f.top(root)
	if rules.Refs {
		f.addDefinitions(top)
	}
	f.nameNulls()
	f.measure(top)
	if _, none := Worst(f.problems, Fatal); none {
		return nil, f.problems
	}
	form = top.bytes()
	if most := cmpOr(rules.Limits.Bytes, maxBytes); len(form) > most {
		f.fatal(root, "", "the schema is too large in the form that the model's server takes")
		return nil, f.problems
	}
	return form, f.problems
}

func cmpOr(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// former is the state of rewriting one schema.
type former struct {
	rules *Rules
	root  *node

	problems []Problem
	// count counts all problems, including those that are not kept.
	count int
	// made counts the parts of the form. full is set when there are too many.
	made  int
	full  bool
	depth int
	// open counts how often a schema currently contains itself.
	open map[*node]int
	// ids are the targets of references beside pointers. found are the resolved references.
	ids, found map[string]*node
	// names and kept are the definitions of a form with references.
	names map[*node]string
	// always are the names of properties that must be present and may be null. lost is set if a
	// property that became null is no longer among the problems.
	always map[string]bool
	lost   bool
	taken  map[string]int
	kept   []*node
}

// knows reports whether the vendor accepts a keyword.
func (f *former) knows(keyword string) bool {
	return f.rules.Keywords == nil || slices.Contains(f.rules.Keywords, keyword)
}

// atTop reports whether the vendor accepts a keyword at the top.
func (f *former) atTop(keyword string) bool {
	return f.knows(keyword) && !slices.Contains(f.rules.NotTop, keyword) &&
		(f.rules.Top == nil || slices.Contains(f.rules.Top, keyword))
}

func (f *former) alone(keyword string) bool { return slices.Contains(f.rules.Alone, keyword) }

func (f *former) add(p Problem) {
	f.count++
	if !f.room(p.Kind) {
		f.lost = f.lost || p.Kind == Nulled
		return
	}
	for _, o := range f.problems { // a schema that occurs twice
		if o.Kind == p.Kind && o.Name == p.Name && o.At == p.At && o.Keyword == p.Keyword && o.Text == p.Text && bytes.Equal(o.Schema, p.Schema) {
			return
		}
	}
	f.problems = append(f.problems, p)
}

// room reports whether another problem is kept.
func (f *former) room(k Kind) bool {
	return len(f.problems) < maxProblems || k == Fatal && len(f.problems) < 2*maxProblems
}

// at returns the place of a problem of n. It is only computed if there is room for the problem.
func (f *former) at(n *node, k Kind) string {
	if !f.room(k) {
		return ""
	}
	return n.pointer()
}

// widen records that the form does not express a constraint of n.
func (f *former) widen(n *node, keyword string, value *node, text string) {
	p := Problem{Kind: Widened, Keyword: keyword, Text: text}
	if f.room(Widened) {
		p.At = n.pointer()
		if value != nil {
			shown := object()
			shown.set(keyword, value)
			p.Schema = f.shown(shown)
		}
	}
	f.add(p)
}

// widenTogether records keywords that depend on each other.
func (f *former) widenTogether(w *node, keys ...string) {
	if !f.room(Widened) {
		f.count++
		return
	}
	omitted := object()
	for _, key := range keys {
		if s := w.get(key); s != nil {
			omitted.set(key, s)
		}
	}
	f.add(Problem{Kind: Widened, Keyword: keys[0], At: w.pointer(), Schema: f.shown(omitted)})
}

func (f *former) narrow(n *node, keyword, text string) {
	f.add(Problem{Kind: Narrowed, Keyword: keyword, Text: text, At: f.at(n, Narrowed)})
}

func (f *former) fatal(n *node, keyword, text string) {
	f.add(Problem{Kind: Fatal, Keyword: keyword, Text: text, At: f.at(n, Fatal)})
}

// exactly returns a form and reports whether it is equivalent. If not, its problems are dropped,
// because the form is not used.
func (f *former) exactly(write func() *node) (form *node, ok bool) {
	count, kept := f.count, len(f.problems)
	form = write()
	if f.count == count {
		return form, true
	}
	rest := slices.DeleteFunc(slices.Clone(f.problems[kept:]), func(p Problem) bool { return p.Kind != Fatal })
	f.problems, f.count = append(f.problems[:kept], rest...), count+len(rest)
	return form, false
}

// schema returns the form of a schema.
func (f *former) schema(n *node) *node {
	switch n.kind {
	case 't':
		return f.anything(n)
	case 'f':
		return f.nothing(n)
	case '{':
	default:
		f.fatal(n, "", "there is something that is no schema")
		return object()
	}
	if f.made++; f.full || f.made > maxNodes {
		if !f.full {
			f.full = true
			f.widen(n, "", nil, "the schema goes on, but is too large to be shown")
		}
		return f.anything(n)
	}
	if f.depth >= cmpOr(f.rules.Limits.Depth, maxDepth) {
		f.widen(n, "", nil, "the schema goes on, but is too deep to be shown")
		return f.anything(n)
	}
	f.depth++
	defer func() { f.depth-- }()
	w, done := f.plain(n, false)
	defer done()
	return f.keywords(w)
}

// anything returns the form of a schema that allows everything.
func (f *former) anything(n *node) *node {
	switch {
	case f.rules.Anything != "":
		f.narrow(n, "", "a value of any kind cannot be asked for")
		return f.table(n, f.rules.Anything)
	case f.rules.Typed:
		f.fatal(n, "", "there is a value of any kind, which cannot be asked for")
	}
	return object()
}

// table parses a schema of the rules.
func (f *former) table(n *node, schema string) *node {
	t, err := parse([]byte(schema))
	if err != nil || !t.isObject() {
		f.fatal(n, "", "the rules for the model's server hold what is no schema")
		return object()
	}
	return t
}

// nothing returns the form of a schema that allows nothing.
func (f *former) nothing(n *node) *node {
	if f.knows("not") {
		w := object()
		w.set("not", object())
		return w
	}
	f.widen(n, "", nil, "no value is valid here")
	return f.anything(n)
}

// keywords returns the form of a plain schema.
func (f *former) keywords(w *node) *node {
	w = f.typed(f.alternatives(w))
	if form := f.rewritten(w); form != nil {
		return form
	}
	if len(w.keys) == 0 {
		return f.anything(w)
	}
	w = f.arrays(w)
	w = f.objects(w)
	count := f.count
	out := object()
	for i, key := range w.keys {
		f.made++
		f.keyword(out, w, key, w.vals[i])
	}
	if f.count > count {
		for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
			if out.has(key) { // the wider form of a keyword leaves fewer of them
				f.widen(w, key, w.get(key), "")
				out.drop(key)
			}
		}
	}
	if v := out.get("properties"); f.rules.Hollow != "" && allows(out, "object") && len(v.names()) == 0 {
		f.narrow(w, "properties", "an object cannot be asked for without naming its properties")
		hollow := f.table(w, f.rules.Hollow)
		for _, key := range []string{"description", "nullable"} {
			if v := out.get(key); v != nil && f.knows(key) {
				hollow.set(key, v)
			}
		}
		return hollow
	}
	if len(out.keys) == 0 || f.rules.Typed && !shaped(out) {
		form := f.anything(w)
		f.note(form, out)
		return form
	}
	return out
}

// note adds the annotations of values to a form.
func (f *former) note(form, notes *node) {
	if list := form.get("anyOf"); list != nil && f.alone("anyOf") {
		for _, s := range list.vals {
			f.note(s, notes)
		}
		return
	}
	for i, key := range notes.keys {
		form.set(key, notes.vals[i])
	}
}

// shaped reports whether a form has the type of its values.
func shaped(out *node) bool {
	return out.has("type") || out.has("anyOf") || out.has("$ref") || out.has("enum") || out.has("const")
}

// keyword writes one keyword of a schema.
func (f *former) keyword(out, w *node, key string, v *node) {
	if !f.knows(key) && key != "nullable" {
		switch {
		case key == "if":
			f.widenTogether(w, key, "then", "else")
		case key == "then", key == "else":
		case key == "contains":
			f.widenTogether(w, key, "minContains", "maxContains")
		case key == "minContains", key == "maxContains":
		case constrains(key):
			f.widen(w, key, v, "")
		}
		return
	}
	switch key {
	case "$ref":
		out.set(key, f.reference(w, v))
	case "properties", "patternProperties", "dependentSchemas":
		if key == "properties" && f.rules.Complete {
			f.complete(out, w, v)
			return
		}
		f.members(out, w, key, v)
	case "items", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems":
		f.below(out, key, v)
	case "contains":
		f.contained(out, w, v)
	case "not":
		if form, ok := f.exactly(func() *node { return f.schema(v) }); ok {
			out.set(key, form)
		} else {
			f.widen(w, key, v, "")
		}
	case "if":
		f.conditions(out, w, v)
	case "required":
		if !f.rules.Complete {
			out.set(key, v)
		}
	case "then", "else", "minContains", "maxContains":
		if key == "then" || key == "else" {
			return // handled with if, or without meaning
		}
		if out.has("contains") {
			out.set(key, v)
		}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		f.list(out, w, key, v)
	case "enum", "const":
		f.values(out, w, key, v)
	case "format":
		if v.isText() && f.rules.Formats != nil && !slices.Contains(f.rules.Formats, v.text) {
			f.widen(w, key, v, "")
			return
		}
		out.set(key, v)
	case "minItems":
		if n, ok := whole(v); ok && f.rules.MaxMinItems > 0 && n > f.rules.MaxMinItems {
			f.widen(w, key, v, "")
			v = number(f.rules.MaxMinItems)
		}
		out.set(key, v)
	default:
		out.set(key, v)
	}
}

// below writes a schema inside another one.
func (f *former) below(out *node, key string, v *node) {
	switch {
	case !v.isTrue() && !v.isFalse():
	case key == "additionalProperties", f.rules.Keywords == nil && (key != "items" || !f.rules.Items):
		out.set(key, v)
		return
	}
	out.set(key, f.schema(v))
}

func (f *former) members(out, w *node, key string, v *node) {
	if !v.isObject() {
		f.fatal(w, key, "the schema has "+key+" that are no object")
		return
	}
	into := object()
	for i, name := range v.keys {
		into.keys = append(into.keys, name)
		into.vals = append(into.vals, f.schema(v.vals[i]))
	}
	out.set(key, into)
}

func (f *former) list(out, w *node, key string, v *node) {
	if !v.isArray() || len(v.vals) == 0 {
		f.fatal(w, key, "the schema has "+key+" that is no list of schemas")
		return
	}
	into := array()
	write := func() *node {
		for _, s := range v.vals {
			into.vals = append(into.vals, f.schema(s))
		}
		return into
	}
	if key != "oneOf" {
		out.set(key, write())
		return
	}
	// In oneOf, a wider form of one alternative may also match another's values.
	if _, ok := f.exactly(write); ok {
		out.set(key, into)
	} else {
		f.widen(w, key, v, "")
	}
}

// conditions writes if, then and else.
func (f *former) conditions(out, w *node, v *node) {
	keep := object()
	form, ok := f.exactly(func() *node { return f.schema(v) })
	if ok {
		keep.set("if", form)
		for _, key := range []string{"then", "else"} {
			if s := w.get(key); s != nil && f.knows(key) {
				keep.set(key, f.schema(s))
			}
		}
		for i, key := range keep.keys {
			out.set(key, keep.vals[i])
		}
		return
	}
	f.widenTogether(w, "if", "then", "else")
}

func (f *former) contained(out, w *node, v *node) {
	if w.has("maxContains") {
		form, ok := f.exactly(func() *node { return f.schema(v) })
		if !ok {
			f.widenTogether(w, "contains", "minContains", "maxContains")
			return
		}
		out.set("contains", form)
		return
	}
	out.set("contains", f.schema(v))
}

// values writes an enum, as far as the vendor accepts its values.
func (f *former) values(out, w *node, key string, v *node) {
	list := v
	if key == "const" {
		list = array(v)
	}
	if !list.isArray() || len(list.vals) == 0 {
		f.fatal(w, key, "the schema has an enum without values")
		return
	}
	for _, one := range list.vals {
		if !f.takes(one) {
			f.widen(w, key, v, "")
			return
		}
	}
	out.set(key, v)
}

func (f *former) takes(v *node) bool {
	switch f.rules.Enum {
	case Scalars:
		return v.kind != '{' && v.kind != '['
	case Strings:
		return v.kind == '"'
	case StringsAndNumbers:
		return v.kind == '"' || v.kind == '0'
	default:
		return true
	}
}

// constraints are the keywords that constrain values.
var constraints = []string{
	"type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref",
	"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "required",
	"minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
	"items", "prefixItems", "unevaluatedItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems",
	"minLength", "maxLength", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
}

func constrains(keyword string) bool { return slices.Contains(constraints, keyword) }

// annotates reports whether a keyword only describes values.
func annotates(keyword string) bool { return !constrains(keyword) && keyword != "nullable" }
