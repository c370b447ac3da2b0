package schema

import "github.com/braidrun/braid/internal/lazyre"

// Rules say what schemas a vendor takes. The zero value of a field forbids nothing
// and asks for nothing. Rules are read, never changed.
type Rules struct {
	// Keywords lists what the vendor knows; nil is everything. The others are told
	// in words, or left out where they constrain nothing.
	Keywords []string
	// Top lists what may stand at the top; nil is everything that may stand below.
	// NotTop lists what may not.
	Top, NotTop []string
	// Object says that the top must be an object, with properties.
	Object bool
	// Formats lists the values of format that the vendor knows; nil is all.
	Formats []string
	// Refs says whether references may stand: below $defs, with recursion. Otherwise
	// what they refer to is put in their place, and recursion is cut.
	Refs bool
	// Alone lists keywords that may have none beside them: $ref, anyOf.
	Alone []string
	// OneType says that type is one word; several become alternatives.
	OneType bool
	// Nullable says that null is allowed by the keyword nullable, not by a type.
	Nullable bool
	// Typed says that each schema needs a type, alternatives or a reference.
	Typed bool
	// Closed says that no object may have properties beyond those that are named,
	// and that this must be said.
	Closed bool
	// Complete says that every property must be required: those that are optional
	// become null instead of missing.
	Complete bool
	// Defined says that a property that is required must be described.
	Defined bool
	// Items says that a schema of arrays must say what is in them.
	Items bool
	// Enum is what its values may be.
	Enum Values
	// Anything stands for a schema that allows everything, where {} cannot.
	Anything string
	// Hollow stands for an object of which no property is named, where it cannot.
	Hollow string
	// Name is what the vendor takes as the name of a property; nil is everything.
	Name *lazyre.Regexp
	// MaxMinItems bounds minItems where the vendor knows small ones only; 0 is no bound.
	MaxMinItems int
	// Limits bound the form.
	Limits Limits
}

// Values says what may stand in an enum.
type Values uint8

// The kinds of values.
const (
	AnyValues Values = iota
	// Scalars are strings, numbers, true, false and null.
	Scalars
	// Strings are strings alone.
	Strings
	// StringsAndNumbers are the two.
	StringsAndNumbers
)

// Limits bound a form; 0 is the package's own bound.
type Limits struct {
	// Depth is how many schemas may stand in one another.
	Depth int
	// Objects is how many objects with properties may stand in one another; 0 is no
	// bound.
	Objects int
	// Properties, Enums and Letters bound how many properties and values of enums
	// there are in all, and how long names, values and definitions' names are
	// together; 0 is no bound.
	Properties, Enums, Letters int
	// Bytes is how large the form may be.
	Bytes int
}

// The bounds where a vendor has none.
const (
	maxInput    = 1 << 20
	maxBytes    = 256 << 10
	maxNodes    = 10_000
	maxDepth    = 48
	maxProblems = 48
	// unroll is how often a schema may stand in itself before it is cut.
	unroll = 2
)
