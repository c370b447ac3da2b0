package schemacheck

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/strictjson"
)

// Check validates a JSON value of at most [strictjson.DefaultDepth] levels and returns nil if it
// is valid. It returns a *[Misfit] if the value does not fit the schema and a *strictjson.Error
// if data is not JSON. It returns [ErrBudget] if the check is too expensive and [ErrStopped] if
// stop was closed first. stop may be nil.
func (s *Schema) Check(stop <-chan struct{}, data []byte) error {
	v, tooMany, err := parse(data, strictjson.DefaultDepth, maxValues)
	if err != nil {
		return err
	}
	if tooMany {
		return ErrBudget
	}
	c := &check{schema: s, stop: stop, left: MaxSteps, look: stepsPerLook, known: make(map[pair]outcome)}
	m := c.check(s.root, v, nil)
	switch {
	case c.over != nil:
		return c.over
	case m != nil:
		return m
	default:
		return nil
	}
}

// check is the state of one validation.
type check struct {
	schema *Schema
	stop   <-chan struct{}
	left   int
	// look is the number of steps until the next poll of stop.
	look  int
	depth int
	// over is why the check was abandoned. Once it is set, the methods' results mean nothing.
	over error
	// known caches the outcomes of schemas that several references may name.
	known map[pair]outcome
	// homes are the resources on the path to the current schema, for dynamic references.
	homes []*resource
}

type pair struct {
	rule  *rule
	value *value
}

type outcome struct {
	misfit *Misfit
	marks  *marks
}

// marks are the members or items of a value that schemas have evaluated.
type marks struct {
	all bool
	set []bool
}

func (m *marks) note(v *value, i int) {
	if m == nil {
		return
	}
	if m.set == nil {
		m.set = make([]bool, len(v.vals))
	}
	m.set[i] = true
}

func (m *marks) has(i int) bool { return m.all || m.set != nil && m.set[i] }

// spend counts steps. It returns false if none are left or the check was stopped.
func (c *check) spend(steps int) bool {
	if c.over != nil {
		return false
	}
	if c.left -= steps; c.left < 0 {
		c.over = ErrBudget
		return false
	}
	if c.look -= steps; c.look < 0 {
		c.look = stepsPerLook
		select {
		case <-c.stop:
			c.over = ErrStopped
			return false
		default:
		}
	}
	return true
}

// merge adds the members that a schema has evaluated to those of its parent.
func (c *check) merge(into, from *marks) {
	if into == nil || from == nil {
		return
	}
	into.all = into.all || from.all
	if from.set != nil && c.spend(1+len(from.set)/8) {
		if into.set == nil {
			into.set = make([]bool, len(from.set))
		}
		for i, yes := range from.set {
			into.set[i] = into.set[i] || yes
		}
	}
}

func misfit(v *value, keyword string, say func() string) *Misfit { return &Misfit{v, keyword, say} }

// check validates a value against a schema and adds what the schema has evaluated to seen.
func (c *check) check(r *rule, v *value, seen *marks) *Misfit {
	if !c.spend(1) {
		return nil
	}
	if c.depth >= maxLevels {
		c.over = ErrBudget
		return nil
	}
	c.depth++
	defer func() { c.depth-- }()
	remember := r.named && !c.schema.dynamic
	if remember {
		if o, ok := c.known[pair{r, v}]; ok {
			c.merge(seen, o.marks)
			return o.misfit
		}
	}
	if c.schema.dynamic && (len(c.homes) == 0 || c.homes[len(c.homes)-1] != r.home) {
		c.homes = append(c.homes, r.home)
		defer func() { c.homes = c.homes[:len(c.homes)-1] }()
	}
	var own *marks
	if c.schema.marks {
		own = &marks{}
	}
	m := c.rule(r, v, own)
	if c.over != nil {
		return nil
	}
	if m != nil {
		own = nil
	}
	if remember && len(c.known) < maxKnown {
		c.known[pair{r, v}] = outcome{m, own}
	}
	c.merge(seen, own)
	return m
}

func (c *check) rule(r *rule, v *value, own *marks) *Misfit {
	if r.never {
		return misfit(v, "false", func() string { return "no value is valid here" })
	}
	if math.IsInf(v.number, 0) {
		return misfit(v, "number", func() string { return "the number is too large" })
	}
	if r.ref != nil {
		if m := c.check(r.ref, v, own); m != nil {
			return m
		}
	}
	for _, part := range [...]func(*rule, *value) *Misfit{c.plain, c.numbers, c.words} {
		if m := part(r, v); m != nil || c.over != nil {
			return m
		}
	}
	if r.dynamic != nil {
		if m := c.check(c.outermost(r), v, own); m != nil {
			return m
		}
	}
	if m := c.logic(r, v, own); m != nil || c.over != nil {
		return m
	}
	switch v.kind {
	case '[':
		return c.array(r, v, own)
	case '{':
		return c.object(r, v, own)
	}
	return nil
}

// outermost resolves a dynamic reference.
func (c *check) outermost(r *rule) *rule {
	if r.anchor != "" {
		for _, home := range c.homes {
			if !c.spend(1) {
				break
			}
			if a, ok := home.anchors[r.anchor]; ok && a.dynamic {
				return a.rule
			}
		}
	}
	return r.dynamic
}

func (c *check) plain(r *rule, v *value) *Misfit {
	if r.types != nil && !slices.ContainsFunc(r.types, v.isType) {
		return misfit(v, "type", func() string {
			want := "want " + strconv.Quote(r.types[0])
			if len(r.types) != 1 {
				want = "want one of " + names(r.types)
			}
			return v.shown() + " has type " + strconv.Quote(v.typeName()) + ", " + want
		})
	}
	if r.enum != nil && !slices.ContainsFunc(r.enum, func(one *value) bool { return same(one, v, c.spend) }) {
		return misfit(v, "enum", func() string {
			list := make([]string, len(r.enum))
			for i, one := range r.enum {
				list[i] = one.shown()
			}
			return v.shown() + " is none of " + names(list)
		})
	}
	if r.constant != nil && !same(r.constant, v, c.spend) {
		return misfit(v, "const", func() string { return v.shown() + " is not " + r.constant.shown() })
	}
	return nil
}

func (c *check) numbers(r *rule, v *value) *Misfit {
	if v.kind != '0' {
		return nil
	}
	n := v.number
	bad := func(keyword, is string, bound float64) *Misfit {
		return misfit(v, keyword, func() string { return v.shown() + " is " + is + " " + strconv.FormatFloat(bound, 'g', -1, 64) })
	}
	switch {
	case r.multipleOf != nil && !multiple(n, *r.multipleOf):
		return bad("multipleOf", "no multiple of", *r.multipleOf)
	case r.minimum != nil && n < *r.minimum:
		return bad("minimum", "less than", *r.minimum)
	case r.maximum != nil && n > *r.maximum:
		return bad("maximum", "greater than", *r.maximum)
	case r.above != nil && n <= *r.above:
		return bad("exclusiveMinimum", "not greater than", *r.above)
	case r.below != nil && n >= *r.below:
		return bad("exclusiveMaximum", "not less than", *r.below)
	}
	return nil
}

// multiple divides floats, because a quotient of arbitrary precision could take unbounded time.
func multiple(n, of float64) bool {
	_, rest := math.Modf(n / of)
	return rest == 0
}

func (c *check) words(r *rule, v *value) *Misfit {
	if v.kind != '"' {
		return nil
	}
	if r.minLength != nil || r.maxLength != nil {
		if !c.spend(len(v.text) / 64) {
			return nil
		}
		n := utf8.RuneCountInString(v.text)
		if r.minLength != nil && n < *r.minLength {
			return misfit(v, "minLength", func() string { return strconv.Itoa(n) + " characters are fewer than " + strconv.Itoa(*r.minLength) })
		}
		if r.maxLength != nil && n > *r.maxLength {
			return misfit(v, "maxLength", func() string { return strconv.Itoa(n) + " characters are more than " + strconv.Itoa(*r.maxLength) })
		}
	}
	if r.pattern != nil && c.spend(r.pattern.cost(v.text)) && !r.pattern.MatchString(v.text) {
		return misfit(v, "pattern", func() string {
			return strconv.Quote(v.shown()) + " does not match the regular expression " + strconv.Quote(clip(r.pattern.String(), 120))
		})
	}
	return nil
}

func (c *check) logic(r *rule, v *value, own *marks) *Misfit {
	for _, s := range r.allOf {
		if m := c.check(s, v, own); m != nil || c.over != nil {
			return m
		}
	}
	if r.anyOf != nil {
		if m := c.any(r, v, own); m != nil || c.over != nil {
			return m
		}
	}
	if r.oneOf != nil {
		if m := c.one(r, v, own); m != nil || c.over != nil {
			return m
		}
	}
	if r.not != nil && c.check(r.not, v, nil) == nil {
		return misfit(v, "not", func() string { return v.shown() + " is what it must not be" })
	}
	if r.when != nil {
		s := r.then
		if c.check(r.when, v, own) != nil {
			s = r.otherwise
		}
		if s != nil {
			return c.check(s, v, own)
		}
	}
	return nil
}

func (c *check) any(r *rule, v *value, own *marks) *Misfit {
	fits := false
	var why []*Misfit
	for _, s := range r.anyOf {
		m := c.check(s, v, own)
		if c.over != nil {
			return nil //nolint:nilerr // whoever began the check reads c.over
		}
		if m == nil {
			if fits = true; own == nil {
				break // nobody needs the marks of the others
			}
		}
		why = addReason(why, m)
	}
	if fits {
		return nil
	}
	return misfit(v, "anyOf", func() string { return v.shown() + " fits none of the alternatives: " + reasons(why) })
}

func (c *check) one(r *rule, v *value, own *marks) *Misfit {
	fits := -1
	var why []*Misfit
	for i, s := range r.oneOf {
		m := c.check(s, v, own)
		if c.over != nil {
			return nil //nolint:nilerr // whoever began the check reads c.over
		}
		if m == nil && fits >= 0 {
			first := fits
			return misfit(v, "oneOf", func() string {
				return v.shown() + " fits more than one alternative, " + strconv.Itoa(first+1) + " and " + strconv.Itoa(i+1)
			})
		}
		if m == nil {
			fits = i
		}
		why = addReason(why, m)
	}
	if fits >= 0 {
		return nil
	}
	return misfit(v, "oneOf", func() string { return v.shown() + " fits none of the alternatives: " + reasons(why) })
}

// mostReasons is the maximum number of alternatives that a message explains.
const mostReasons = 3

// addReason keeps why an alternative does not fit, while the message has room. It drops the
// reasons of nested alternatives, which would multiply.
func addReason(why []*Misfit, m *Misfit) []*Misfit {
	if m == nil || len(why) > mostReasons {
		return why
	}
	if m.keyword == "anyOf" || m.keyword == "oneOf" {
		m = misfit(m.at, m.keyword, func() string { return "none fits" })
	}
	return append(why, m)
}

func reasons(why []*Misfit) string {
	var list []string
	for i, m := range why {
		if i == mostReasons {
			list = append(list, "…")
			break
		}
		list = append(list, clip(m.Error(), 120))
	}
	return strings.Join(list, "; ")
}

func (c *check) array(r *rule, v *value, own *marks) *Misfit {
	for i, one := range v.vals {
		var s *rule
		if i < len(r.first) {
			s = r.first[i]
		} else if s = r.items; s == nil {
			break
		}
		if m := c.check(s, one, nil); m != nil || c.over != nil {
			return m
		}
		own.note(v, i)
	}
	if r.items != nil && own != nil {
		own.all = true
	}
	if r.contains != nil {
		if m := c.contains(r, v, own); m != nil || c.over != nil {
			return m
		}
	}
	n := len(v.vals)
	if r.minItems != nil && n < *r.minItems {
		return misfit(v, "minItems", func() string { return strconv.Itoa(n) + " items are fewer than " + strconv.Itoa(*r.minItems) })
	}
	if r.maxItems != nil && n > *r.maxItems {
		return misfit(v, "maxItems", func() string { return strconv.Itoa(n) + " items are more than " + strconv.Itoa(*r.maxItems) })
	}
	if r.unique {
		if m := c.unique(v); m != nil || c.over != nil {
			return m
		}
	}
	if r.otherItems != nil && !own.all {
		for i, one := range v.vals {
			if own.has(i) {
				continue
			}
			if m := c.check(r.otherItems, one, nil); m != nil || c.over != nil {
				return m
			}
		}
		own.all = true
	}
	return nil
}

func (c *check) contains(r *rule, v *value, own *marks) *Misfit {
	n := 0
	for i, one := range v.vals {
		m := c.check(r.contains, one, nil)
		if c.over != nil {
			return nil //nolint:nilerr // whoever began the check reads c.over
		}
		if m == nil {
			n++
			own.note(v, i)
		}
	}
	least := 1
	if r.minContains != nil {
		least = *r.minContains
	}
	if n < least {
		return misfit(v, "contains", func() string {
			return strconv.Itoa(n) + " items are as they must be, at least " + strconv.Itoa(least) + " are needed"
		})
	}
	if r.maxContains != nil && n > *r.maxContains {
		return misfit(v, "maxContains", func() string {
			return strconv.Itoa(n) + " items are as they may be, at most " + strconv.Itoa(*r.maxContains) + " are allowed"
		})
	}
	return nil
}

func (c *check) unique(v *value) *Misfit {
	seed := maphash.MakeSeed()
	places := make(map[uint64][]int, len(v.vals))
	for i, one := range v.vals {
		sum := one.hash(seed, c.spend)
		for _, j := range places[sum] {
			if same(one, v.vals[j], c.spend) {
				return misfit(v, "uniqueItems", func() string { return "items " + strconv.Itoa(j) + " and " + strconv.Itoa(i) + " are equal" })
			}
		}
		if c.over != nil {
			return nil //nolint:nilerr // whoever began the check reads c.over
		}
		places[sum] = append(places[sum], i)
	}
	return nil
}

func (c *check) object(r *rule, v *value, own *marks) *Misfit {
	if m := c.members(r, v, own); m != nil || c.over != nil {
		return m
	}
	if r.propertyNames != nil {
		for i, key := range v.keys {
			if m := c.check(r.propertyNames, &value{kind: '"', text: key, up: v, at: i}, nil); m != nil || c.over != nil {
				return m
			}
		}
	}
	n := len(v.keys)
	if r.minProps != nil && n < *r.minProps {
		return misfit(v, "minProperties", func() string { return strconv.Itoa(n) + " properties are fewer than " + strconv.Itoa(*r.minProps) })
	}
	if r.maxProps != nil && n > *r.maxProps {
		return misfit(v, "maxProperties", func() string { return strconv.Itoa(n) + " properties are more than " + strconv.Itoa(*r.maxProps) })
	}
	if m := c.present(v, "required", r.required); m != nil {
		return m
	}
	for i := range r.needs {
		if c.spend(1) && v.find(r.needs[i].name) >= 0 {
			if m := c.present(v, "dependentRequired", r.needs[i].names); m != nil {
				return m
			}
		}
	}
	for i := range r.dependents {
		if c.spend(1) && v.find(r.dependents[i].name) >= 0 {
			if m := c.check(r.dependents[i].rule, v, own); m != nil {
				return m
			}
		}
	}
	if c.over == nil && r.otherProperties != nil && !own.all {
		for i, one := range v.vals {
			if own.has(i) {
				continue
			}
			if m := c.check(r.otherProperties, one, nil); m != nil || c.over != nil {
				return m
			}
		}
		own.all = true
	}
	return nil
}

// members validates the members of an object against their schemas.
func (c *check) members(r *rule, v *value, own *marks) *Misfit {
	if r.properties == nil && r.patterns == nil && r.additional == nil {
		return nil
	}
	var extra []string
	for i, key := range v.keys {
		if !c.spend(1) {
			return nil
		}
		one, looked := v.vals[i], false
		if s := r.properties[key]; s != nil {
			looked = true
			if m := c.check(s, one, nil); m != nil || c.over != nil {
				return m
			}
		}
		for j := range r.patterns {
			if p := &r.patterns[j]; c.spend(p.cost(key)) && p.MatchString(key) {
				looked = true
				if m := c.check(p.rule, one, nil); m != nil || c.over != nil {
					return m
				}
			}
		}
		if !looked && r.additional != nil {
			looked = true
			if r.additional.never {
				extra = append(extra, key)
			} else if m := c.check(r.additional, one, nil); m != nil || c.over != nil {
				return m
			}
		}
		if looked {
			own.note(v, i)
		}
	}
	if len(extra) > 0 {
		return misfit(v, "additionalProperties", func() string { return "unexpected additional properties " + names(extra) })
	}
	return nil
}

// present reports which of the names an object lacks.
func (c *check) present(v *value, keyword string, list []string) *Misfit {
	if !c.spend(len(list)) {
		return nil
	}
	var missing []string
	for _, name := range list {
		if v.find(name) < 0 {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return misfit(v, keyword, func() string { return "missing properties: " + names(missing) })
}
