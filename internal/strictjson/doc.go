// Package strictjson reads JSON that no two readers can understand differently.
//
// The standard decoder takes the last of two equal keys and matches keys without regard to case.
// It replaces invalid UTF-8 and lone surrogates by U+FFFD and allows ten thousand levels of
// nesting. So a text may mean one thing to the program that checked it and another to the program
// that uses it. Here each of these is an error, with its offset.
//
// [Check] validates a text in one pass and does not allocate for common texts. [Unmarshal] is
// encoding/json behind that check. [Reader] is the same check as a pull reader, for decoders
// written by hand. [AppendCompact] and [AppendString] write.
//
// The grammar is RFC 8259's. Unique keys and valid Unicode strings come from RFC 7493 (I-JSON).
// Check does not bound numbers.
//
// Everything here is safe for concurrent use except a [Reader], which belongs to one goroutine.
// Nothing keeps or changes the data that it is given.
package strictjson

// DefaultDepth is the default maximum of open arrays and objects: more than people write, and too
// few to exhaust a stack.
const DefaultDepth = 512

// hardDepth bounds maxDepth, because reading recurses. The standard decoder has the same bound.
const hardDepth = 10_000
