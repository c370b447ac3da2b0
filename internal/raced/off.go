//go:build !race

package raced

// On says that the race detector is at work.
const On = false
