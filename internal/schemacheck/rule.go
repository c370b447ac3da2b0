package schemacheck

// rule is a compiled schema. It does not change after [Compile] has returned.
type rule struct {
	at   *value
	home *resource
	// never is set for the schema false.
	never bool

	// refText and dynamicText are the values of "$ref" and "$dynamicRef"; ref and dynamic are
	// the schemas that they name. anchor is set if a dynamic reference looks for the outermost
	// anchor of that name.
	refText, dynamicText string
	ref, dynamic         *rule
	anchor               string
	// named is set if a reference names this schema.
	named bool

	types    []string
	enum     []*value
	constant *value

	multipleOf, minimum, maximum, above, below *float64

	minLength, maxLength *int
	pattern              *pattern

	first               []*rule // prefixItems, or items of the older drafts
	items               *rule
	contains            *rule
	minContains         *int
	maxContains         *int
	minItems, maxItems  *int
	unique              bool
	otherItems          *rule // unevaluatedItems
	properties          map[string]*rule
	patterns            []patternRule
	additional          *rule
	propertyNames       *rule
	otherProperties     *rule // unevaluatedProperties
	minProps, maxProps  *int
	required            []string
	needs               []need     // dependentRequired
	dependents          []depended // dependentSchemas
	allOf, anyOf, oneOf []*rule
	not, when           *rule
	then, otherwise     *rule
}

type patternRule struct {
	*pattern
	rule *rule
}

// need is a property that requires others.
type need struct {
	name  string
	names []string
}

// depended is a schema that applies to an object with a property.
type depended struct {
	name string
	rule *rule
}

// inPlace calls do with every schema that applies to the same value as r.
func (r *rule) inPlace(c *compiler, do func(*rule)) {
	one := func(s *rule) {
		if s != nil {
			do(s)
		}
	}
	one(r.ref)
	if one(r.dynamic); r.anchor != "" {
		for _, s := range c.dynamic[r.anchor] {
			if s != r.dynamic {
				do(s)
			}
		}
	}
	for _, list := range [...][]*rule{r.allOf, r.anyOf, r.oneOf} {
		for _, s := range list {
			do(s)
		}
	}
	for i := range r.dependents {
		do(r.dependents[i].rule)
	}
	for _, s := range [...]*rule{r.not, r.when, r.then, r.otherwise} {
		one(s)
	}
}
