//go:build !linux

package main

// pinned calls begin. Which core it runs on is the system's choice.
func pinned(begin func() error) (undo func(), err error) { return func() {}, begin() }
