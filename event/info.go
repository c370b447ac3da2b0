package event

import "slices"

//go:generate go run github.com/braidrun/braid/internal/gen/codec

// BodyInfo says what a kind of body is to those who pass events on without reading them. It is one row
// of a table that the declarations of the bodies give.
type BodyInfo struct {
	// Kind is "" for a kind that this version does not know.
	Kind Kind
	// Live says that the body exists only on the stream.
	Live bool
	// Final says that every event with such a body is final; see [Event.Final].
	Final bool
	// Erased says that stores take the content of such a body out of the log when it is redacted. What
	// is redacted of other kinds stays in the log, and is hidden by those who show it.
	Erased bool
}

// Bodies lists every kind of body that this version knows, durable ones first.
func Bodies() []BodyInfo { return slices.Clone(bodies[:]) }

// Info looks a kind up in [Bodies]. One that this version does not know gets the zero value.
func (k Kind) Info() BodyInfo {
	for i := range bodies {
		if bodies[i].Kind == k {
			return bodies[i]
		}
	}
	return BodyInfo{}
}
