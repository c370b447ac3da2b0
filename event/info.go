package event

import "slices"

//go:generate go run github.com/braidrun/braid/internal/gen/codec

// BodyInfo describes a kind of body to code that passes events on without reading them. The declaration of the
// body gives it: CONTRIBUTING.md describes how to add a kind.
type BodyInfo struct {
	// Kind is "" for a kind that this version does not know.
	Kind Kind
	// Live says that the body exists only on the stream.
	Live bool
	// Final says that every event with such a body is final; see [Event.Final].
	Final bool
	// Erased says that stores remove the content of such a body from the log when it is redacted. The log keeps
	// the content of other kinds; readers that show such an event hide it.
	Erased bool
}

// Bodies describes every kind of body that this version knows, durable ones first.
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
