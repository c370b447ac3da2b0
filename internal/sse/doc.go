// Package sse frames server-sent events, both ways, after the WHATWG's HTML
// standard (section "Server-sent events").
//
// The Append functions write. They put everything into dst and keep nothing, and
// what they write cannot break the frame, whatever it holds: a line end inside
// data begins another data line, and in a name or an id it is left out.
//
// [Reader] reads, from bytes that may be cut anywhere. It leaves bytes that are
// no UTF-8 as they came, where the standard puts U+FFFD: whoever reads the
// data can tell then that they were damaged.
package sse
