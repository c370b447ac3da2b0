// Package wiretest makes what wires are tested with: conversations as drivers
// write them, live events included, and what a bus would say of the steps that are
// in flight anywhere in them.
package wiretest
