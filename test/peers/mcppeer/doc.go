// Package mcppeer holds package mcptool against programs that others wrote: the
// reference server of the Model Context Protocol, and its conformance suite.
// The tests need npm and are built with the tag "peers"; test/peers/mcp runs them.
package mcppeer
