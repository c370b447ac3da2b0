// Package server is the execution service over HTTP: the native API under /v1.
//
// A request belongs to the tenant of its credential. Bodies are strict JSON: an
// unknown or doubled name is refused. Every answer carries a request id, every error
// has one form, and once a stream has begun an error is an event of it and not a
// broken connection. The document at /openapi.json describes all of it; the tests
// hold it against the handlers.
package server
