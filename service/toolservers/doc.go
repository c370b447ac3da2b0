// Package toolservers connects the MCP servers of tenants for their runs.
//
// A [Pool] has one connection for each server, version and set of headers. Runs share a connection
// only if all of these are equal, so runs of two tenants, or with two tokens, never do. A connection
// that no run uses is closed after a while, and opened again by the next call.
//
// All HTTP goes through a [netguard.Guard] of its own for each connection: it reaches public addresses, and
// hosts that the operator allows.
//
// A server is not trusted. Its list of tools is bounded in number and size, its tools get the
// server's id as the beginning of their names, and a tool that is no longer what the model was told
// is not called.
package toolservers
