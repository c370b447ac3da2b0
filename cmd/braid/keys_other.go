//go:build !(linux || darwin || freebsd)

package main

// ctrlCAsKey is left to the line editor here.
func ctrlCAsKey(int, bool) {}
