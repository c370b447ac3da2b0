// Package strictjson reads JSON that no two readers can understand differently.
//
// The standard decoder takes the last of two equal keys, matches keys without
// regard to case, puts U+FFFD in the place of bytes that are no UTF-8 and of
// half surrogate pairs, and follows ten thousand levels of nesting. Each of
// these lets a text mean one thing to whoever checked it and another to
// whoever acts on it. Here each of them is an error, with its place.
//
// [Check] judges a text in one pass and does not allocate for texts of common
// shape. [Unmarshal] is encoding/json behind that check. [Reader] is the same
// check as a pull reader, for decoders that are written by hand.
// [AppendCompact] and [AppendString] write.
//
// The grammar is RFC 8259's; that keys are unique and strings are Unicode is
// what RFC 7493 (I-JSON) adds. Numbers are not bounded by the checker.
//
// Everything here is safe for concurrent use except a single [Reader], which
// belongs to one goroutine. Nothing keeps or changes the data it is given.
package strictjson

// DefaultDepth is how many arrays and objects may be open at once where nobody
// has a better number: far more than people write, and far less than
// troubles a stack.
const DefaultDepth = 512

// hardDepth bounds what a caller may ask for: reading is recursive, and the
// standard decoder stops here too.
const hardDepth = 10_000
