// Package console contains Braid's browser pages. They are part of the binary and use only
// the public API of the server that serves them. No page needs a build step, a package or
// another host.
package console
