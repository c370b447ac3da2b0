// Package console is what Braid shows in a browser: pages that are part of the binary and
// talk to the public API of the server that they come from, to nothing else. No page
// needs a build, a package or another host.
package console
