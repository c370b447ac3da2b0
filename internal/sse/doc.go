// Package sse reads and writes server-sent events as the WHATWG's HTML standard defines them
// (section "Server-sent events").
//
// The Append functions write. They append to dst and keep nothing. No input can break the
// framing: a line end inside data begins another data line, and a line end inside a name or an id
// is removed.
//
// [Reader] reads from bytes that may be split anywhere. Unlike the standard it does not replace
// invalid UTF-8 by U+FFFD, so that the caller can detect damaged data.
package sse
