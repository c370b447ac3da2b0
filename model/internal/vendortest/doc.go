// Package vendortest is the common part of the loopback servers that stand in for providers in tests. It gives one
// prepared answer to each request, simulates connection faults and records the requests. Each server itself decides
// what its provider refuses and how its answers look.
package vendortest
