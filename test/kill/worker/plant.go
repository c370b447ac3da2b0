//go:build planted

package worker

import "github.com/braidrun/braid/internal/planted"

// plant plants a bug in the code that the worker drives with.
func plant(bug string) { planted.Plant(bug) }
