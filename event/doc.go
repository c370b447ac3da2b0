// Package event holds Braid's vocabulary: what happens in a conversation,
// said once, in types that every store, loop and wire shares.
//
// An [Event] is a [Header] and a [Body]. Durable bodies are entries of a
// conversation's log and carry a dense Seq; live bodies (text, thinking and
// tool-input deltas, tool progress) exist only on a stream. An event is
// immutable once it has been handed over: nobody, neither a store nor a
// reader, may change what a body points to.
//
// The package imports nothing but the standard library and this module's own
// strict JSON, and knows no vendor's type, so that each wire can be a pure
// projection of it.
package event
