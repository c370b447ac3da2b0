package schema

import "github.com/braidrun/braid/internal/lazyre"

// Rules describe the schemas that a vendor accepts. The zero value of a field forbids and requires nothing. Rules are
// never changed.
type Rules struct {
	// Keywords lists the accepted keywords; nil means all. Others become words, or are dropped if they constrain
	// nothing.
	Keywords []string
	// Top lists the keywords that are accepted at the top; nil means the same as below. NotTop lists those that are
	// not.
	Top, NotTop []string
	// Object requires an object with properties at the top.
	Object bool
	// Formats lists the accepted values of format; nil means all.
	Formats []string
	// Refs allows references to $defs, with recursion. Without it references are resolved, and recursion is cut.
	Refs bool
	// Alone lists keywords that allow no other keyword beside them: $ref, anyOf.
	Alone []string
	// OneType requires type to be one name; several become alternatives.
	OneType bool
	// Nullable means that the keyword nullable allows null, and a type does not.
	Nullable bool
	// Typed requires a type, alternatives or a reference in each schema.
	Typed bool
	// Closed requires every object to forbid properties that are not named.
	Closed bool
	// Complete requires every property to be required. Optional properties become null instead of missing.
	Complete bool
	// Defined requires a schema for each required property.
	Defined bool
	// Items requires a schema for the items of arrays.
	Items bool
	// Enum lists the accepted values of an enum.
	Enum Values
	// Anything replaces a schema that allows everything, if {} is not accepted.
	Anything string
	// Hollow replaces an object without named properties, if that is not accepted.
	Hollow string
	// Name matches the accepted names of properties; nil means all.
	Name *lazyre.Regexp
	// MaxMinItems is the largest accepted minItems; 0 means no limit.
	MaxMinItems int
	// Limits bound the form.
	Limits Limits
}

// Values are the values that an enum may have.
type Values uint8

// The kinds of values.
const (
	AnyValues Values = iota
	// Scalars are strings, numbers, true, false and null.
	Scalars
	// Strings are strings only.
	Strings
	// StringsAndNumbers are strings and numbers.
	StringsAndNumbers
)

// Limits bound a form; 0 means the package's own limit.
type Limits struct {
	// Depth is the maximum nesting of schemas.
	Depth int
	// Objects is the maximum nesting of objects with properties; 0 means no limit.
	Objects int
	// Properties and Enums are the maximum numbers of properties and of enum values in a form. Letters is the maximum
	// total length of names, values and definitions' names. 0 means no limit.
	Properties, Enums, Letters int
	// Bytes is the maximum size of the form.
	Bytes int
}

// The limits for vendors without their own.
const (
	maxInput    = 1 << 20
	maxBytes    = 256 << 10
	maxNodes    = 10_000
	maxDepth    = 48
	maxProblems = 48
	// unroll is the number of times that a schema may contain itself before it is cut.
	unroll = 2
)
