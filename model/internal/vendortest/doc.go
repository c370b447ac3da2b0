// Package vendortest is what the loopback servers that stand in for providers share:
// answers that were prepared, given one to each request; the ways in which a
// connection goes wrong; and what was asked. What a provider refuses, and what
// its answers look like, is the business of the server itself.
package vendortest
