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
//
// # JSON
//
// One event is one object:
//
//	{"seq":7,"conversation":"c","run":"r","cycle":1,"step":"m1","attempt":1,
//	 "author":"calc","time":"2026-11-20T01:02:03.4Z","kind":"text_delta",
//	 "body":{"text":"hi","block":0}}
//
// The header's fields stand beside "kind" and "body", in snake case, and are
// left out when they are zero: seq, conversation, run, scope, cycle, step,
// attempt, author, branch, time (RFC 3339, UTC, nanoseconds), audience,
// simulated, epoch, n. A body's keys are those of its struct's tags. A block is
// an object with its "kind" among its fields, wherever it stands; Go durations
// are integers of nanoseconds under keys that end in "_ns"; bytes are base64.
//
// Writing is deterministic: fields in the order of their structs, map keys
// sorted. Only what JSON requires is escaped. Go strings that are no UTF-8
// are written with U+FFFD for each bad byte. Raw JSON inside an event is checked
// and written without white space, so that an event is one line, except for
// an [Unknown] body and an [UnknownBlock], which are written exactly as they came.
//
// Reading is strict. Refused are unknown and duplicate keys, values of another
// type (null included, except where the field is a pointer or raw JSON), bytes
// that are no UTF-8, nesting beyond the bound, and anything after the value.
// What is missing is zero; an empty list is nil. Every error is an
// [*Error] of kind [ErrInvalid].
//
// Raw JSON nests at most 512 levels, tool results inside tool results at most
// 16, in both directions: what can be written can be read.
package event
