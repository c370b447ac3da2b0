//go:build !linux

package main

// pinned calls begin. The system chooses the core.
func pinned(begin func() error) (undo func(), err error) { return func() {}, begin() }
