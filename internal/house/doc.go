// Package house holds the tests of the house itself: that arrows between
// packages point one way, and that the documents speak of what is there. It has
// no code of its own.
package house
