package schemacheck

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root *rule
	// marks is set if checks must track which members a schema has evaluated. dynamic is set if
	// the meaning of a schema depends on the path to it.
	marks, dynamic bool
}

// Compile compiles a schema. The error is a *[Refusal].
func Compile(schema []byte) (*Schema, error) {
	if len(schema) > maxBytes {
		return nil, &Refusal{Text: "the schema is larger than 1 MiB"}
	}
	root, tooMany, err := parse(schema, maxDepth, maxParts)
	switch {
	case errors.Is(err, strictjson.TooDeep):
		return nil, &Refusal{Text: "the schema nests too deep"}
	case err != nil:
		return nil, &Refusal{Text: "the schema is no JSON that can be read in one way only: " + err.Error()}
	case tooMany:
		return nil, &Refusal{Text: "the schema has too many parts"}
	}
	c := &compiler{
		rules: make(map[*value]*rule), resources: make(map[string]*resource), dynamic: make(map[string][]*rule), patterns: maxPatterns,
	}
	if s := root.get("$schema"); s != nil && s.kind == '"' {
		c.old = strings.Contains(s.text, "/draft-0")
	}
	top := &resource{base: &url.URL{}, root: root}
	c.resources[""] = top
	s := &Schema{root: c.compile(root, top)}
	c.resolveAll()
	c.measure()
	if c.refusal != nil {
		return nil, c.refusal
	}
	s.marks, s.dynamic = c.marks, c.anchored
	return s, nil
}

// Type returns the single type that the top level of the schema declares; "" for none or several.
func (s *Schema) Type() string {
	if len(s.root.types) == 1 {
		return s.root.types[0]
	}
	return ""
}

// resource is a schema with a URI, against which its references resolve.
type resource struct {
	base    *url.URL
	root    *value
	anchors map[string]anchor
}

type anchor struct {
	rule    *rule
	dynamic bool
}

// compiler is the state of compiling one schema. It keeps only the first refusal.
type compiler struct {
	// old is set for drafts before 2019-09.
	old       bool
	rules     map[*value]*rule
	resources map[string]*resource
	// dynamic holds the schemas with a dynamic anchor, by its name.
	dynamic map[string][]*rule
	// pending holds the schemas whose references are not resolved yet.
	pending  []*rule
	patterns int
	// uris counts the bytes of all resolved URIs.
	uris int
	// ways counts the steps of measuring.
	ways     int
	marks    bool
	anchored bool
	refusal  *Refusal
}

func (c *compiler) refuse(at *value, text string) {
	if c.refusal == nil {
		c.refusal = &Refusal{At: at.pointer(), Text: text}
	}
}

// compile compiles a schema and its subschemas. It recurses as deep as the schema nests.
func (c *compiler) compile(n *value, home *resource) *rule {
	if r := c.rules[n]; r != nil {
		return r
	}
	r := &rule{at: n, home: home}
	c.rules[n] = r
	switch n.kind {
	case 't':
	case 'f':
		r.never = true
	case '{':
		c.object(r, n)
	default:
		c.refuse(n, "a schema is needed, an object or true or false")
	}
	return r
}

func (c *compiler) object(r *rule, n *value) {
	ref := n.get("$ref")
	alone := c.old && ref != nil && ref.kind == '"' // older drafts ignore the siblings of $ref
	if !alone {
		c.identify(r, n)
	}
	for i, key := range n.keys {
		v := n.vals[i]
		if v.kind == 'n' && key != "const" {
			continue
		}
		switch key {
		case "$ref", "$recursiveRef":
			if r.refText == "" || key == "$ref" {
				r.refText = c.text(v)
			}
		case "$defs", "definitions":
			c.named(v, r.home)
		default:
			if !alone {
				c.keyword(r, n, key, v)
			}
		}
	}
	if r.refText != "" || r.dynamicText != "" {
		c.pending = append(c.pending, r)
	}
}

// identify records a schema's own names.
func (c *compiler) identify(r *rule, n *value) {
	name := func(key string, dynamic bool) {
		v := n.get(key)
		if v == nil || v.kind != '"' || v.text == "" {
			return
		}
		if r.home.anchors == nil {
			r.home.anchors = make(map[string]anchor)
		}
		if _, taken := r.home.anchors[v.text]; !taken {
			r.home.anchors[v.text] = anchor{r, dynamic}
		}
		if dynamic {
			c.dynamic[v.text] = append(c.dynamic[v.text], r)
		}
	}
	id := n.get("$id")
	if id == nil {
		id = n.get("id") // draft 4
		if id != nil && (!c.old || id.kind != '"') {
			id = nil
		}
	}
	if id != nil && id.kind == '"' && id.text != "" {
		u, err := url.Parse(id.text)
		switch {
		case err != nil:
			c.refuse(n, "the $id is no URI")
			return
		case u.Fragment != "" && u.Path == "" && u.Host == "" && u.Opaque == "":
			if r.home.anchors == nil {
				r.home.anchors = make(map[string]anchor)
			}
			if _, taken := r.home.anchors[u.Fragment]; !taken {
				r.home.anchors[u.Fragment] = anchor{rule: r}
			}
		default:
			base, text, ok := c.join(r, u)
			if c.uris += len(text); !ok || c.uris > maxURIs {
				c.refuse(n, "the URIs of the schema are too long")
				return
			}
			r.home = &resource{base: base, root: n}
			c.resources[text] = r.home
		}
	}
	name("$anchor", false)
	name("$dynamicAnchor", true)
}

func (c *compiler) keyword(r *rule, n *value, key string, v *value) {
	switch key {
	case "$dynamicRef":
		r.dynamicText = c.text(v)
	case "type":
		r.types = c.types(v)
	case "enum":
		if v.kind != '[' {
			c.refuse(v, "enum is no list")
			return
		}
		r.enum = v.vals
		if r.enum == nil {
			r.enum = []*value{}
		}
	case "const":
		r.constant = v
	case "multipleOf":
		r.multipleOf = c.number(v)
	case "minimum":
		if r.minimum = c.number(v); exclusive(n, "exclusiveMinimum") {
			r.above = r.minimum
		}
	case "maximum":
		if r.maximum = c.number(v); exclusive(n, "exclusiveMaximum") {
			r.below = r.maximum
		}
	case "exclusiveMinimum":
		if v.kind != 't' && v.kind != 'f' {
			r.above = c.number(v)
		}
	case "exclusiveMaximum":
		if v.kind != 't' && v.kind != 'f' {
			r.below = c.number(v)
		}
	case "minLength":
		r.minLength = c.whole(v)
	case "maxLength":
		r.maxLength = c.whole(v)
	case "pattern":
		r.pattern = c.expression(v, c.text(v))
	case "minItems":
		r.minItems = c.whole(v)
	case "maxItems":
		r.maxItems = c.whole(v)
	case "minContains":
		r.minContains = c.whole(v)
	case "maxContains":
		r.maxContains = c.whole(v)
	case "minProperties":
		r.minProps = c.whole(v)
	case "maxProperties":
		r.maxProps = c.whole(v)
	case "uniqueItems":
		if v.kind != 't' && v.kind != 'f' {
			c.refuse(v, "uniqueItems is neither true nor false")
		}
		r.unique = v.kind == 't'
	case "required":
		r.required = c.texts(v)
	default:
		c.applicator(r, n, key, v)
	}
}

// exclusive reports whether draft 4's boolean accompanies a limit.
func exclusive(n *value, key string) bool {
	v := n.get(key)
	return v != nil && v.kind == 't'
}

// applicator compiles a keyword that contains schemas.
func (c *compiler) applicator(r *rule, n *value, key string, v *value) {
	switch key {
	case "items":
		if v.kind == '[' {
			r.first = c.list(v, r.home)
			if rest := n.get("additionalItems"); rest != nil && rest.kind != 'n' {
				r.items = c.compile(rest, r.home)
			}
			return
		}
		r.items = c.compile(v, r.home)
	case "prefixItems":
		if !c.old {
			r.first = c.list(v, r.home)
		}
	case "additionalItems":
		c.compile(v, r.home) // items uses it; otherwise a reference may
	case "contains":
		r.contains = c.compile(v, r.home)
	case "unevaluatedItems":
		r.otherItems, c.marks = c.compile(v, r.home), true
	case "unevaluatedProperties":
		r.otherProperties, c.marks = c.compile(v, r.home), true
	case "properties":
		r.properties = c.named(v, r.home)
	case "patternProperties":
		c.named(v, r.home)
		for i, expr := range v.keys {
			if p := c.expression(v.vals[i], expr); p != nil {
				r.patterns = append(r.patterns, patternRule{p, c.compile(v.vals[i], r.home)})
			}
		}
	case "additionalProperties":
		r.additional = c.compile(v, r.home)
	case "propertyNames":
		r.propertyNames = c.compile(v, r.home)
	case "dependentRequired":
		if !c.old {
			c.needs(r, v)
		}
	case "dependentSchemas":
		c.named(v, r.home)
		if !c.old {
			c.dependents(r, v)
		}
	case "dependencies":
		c.dependencies(r, v)
	case "allOf":
		r.allOf = c.list(v, r.home)
	case "anyOf":
		r.anyOf = c.list(v, r.home)
	case "oneOf":
		r.oneOf = c.list(v, r.home)
	case "not":
		r.not = c.compile(v, r.home)
	case "if":
		r.when = c.compile(v, r.home)
	case "then", "else":
		s := c.compile(v, r.home)
		if n.get("if") == nil {
			return // the keyword has no effect
		}
		if key == "then" {
			r.then = s
		} else {
			r.otherwise = s
		}
	}
}

func (c *compiler) needs(r *rule, v *value) {
	for i, name := range v.keys {
		r.needs = append(r.needs, need{name, c.texts(v.vals[i])})
	}
}

func (c *compiler) dependents(r *rule, v *value) {
	for i, name := range v.keys {
		r.dependents = append(r.dependents, depended{name, c.compile(v.vals[i], r.home)})
	}
}

// dependencies compiles the older drafts' keyword, which newer ones ignore.
func (c *compiler) dependencies(r *rule, v *value) {
	for i, name := range v.keys {
		if v.vals[i].kind == '[' {
			if list := c.texts(v.vals[i]); c.old {
				r.needs = append(r.needs, need{name, list})
			}
			continue
		}
		if s := c.compile(v.vals[i], r.home); c.old {
			r.dependents = append(r.dependents, depended{name, s})
		}
	}
}

// named compiles an object of schemas.
func (c *compiler) named(v *value, home *resource) map[string]*rule {
	if v.kind != '{' {
		c.refuse(v, "an object of schemas is needed")
		return nil
	}
	rules := make(map[string]*rule, len(v.keys))
	for i, key := range v.keys {
		rules[key] = c.compile(v.vals[i], home)
	}
	return rules
}

// list compiles a list of schemas. An empty list is not nil.
func (c *compiler) list(v *value, home *resource) []*rule {
	if v.kind != '[' {
		c.refuse(v, "a list of schemas is needed")
		return nil
	}
	rules := make([]*rule, 0, len(v.vals))
	for _, one := range v.vals {
		rules = append(rules, c.compile(one, home))
	}
	return rules
}

var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

func (c *compiler) types(v *value) []string {
	list := []*value{v}
	if v.kind == '[' {
		list = v.vals
	}
	types := make([]string, 0, len(list))
	for _, one := range list {
		if one.kind != '"' {
			c.refuse(v, "the type is no text")
			return nil
		}
		if !slices.Contains(jsonTypes, one.text) {
			c.refuse(v, "JSON has no type "+strconv.Quote(clip(one.text, 40)))
			return nil
		}
		types = append(types, one.text)
	}
	return types
}

func (c *compiler) text(v *value) string {
	if v.kind != '"' {
		c.refuse(v, "a text is needed")
	}
	return v.text
}

func (c *compiler) texts(v *value) []string {
	if v.kind != '[' {
		c.refuse(v, "a list of names is needed")
		return nil
	}
	list := make([]string, 0, len(v.vals))
	for _, one := range v.vals {
		list = append(list, c.text(one))
	}
	return list
}

func (c *compiler) number(v *value) *float64 {
	if v.kind != '0' || math.IsInf(v.number, 0) {
		c.refuse(v, "a number is needed that fits 64 bits")
		return nil
	}
	return &v.number
}

func (c *compiler) whole(v *value) *int {
	if v.kind != '0' || v.number != math.Trunc(v.number) || math.Abs(v.number) > 1<<53 {
		c.refuse(v, "a whole number is needed")
		return nil
	}
	n := int(v.number)
	return &n
}

func (c *compiler) expression(v *value, expr string) *pattern {
	p, text := newPattern(expr, min(maxPattern, c.patterns))
	if text != "" {
		c.refuse(v, text)
		return nil
	}
	c.patterns -= p.size
	return p
}
