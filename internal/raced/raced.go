// Package raced tells a test whether the race detector watches it. What plays many cases on
// one goroutine gives that detector nothing to see and takes five times as long under it:
// such a test plays some there, and all of them in the part of make test without it.
package raced
