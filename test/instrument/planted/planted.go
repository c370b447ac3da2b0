package planted

import (
	"os"
	"sync/atomic"
)

// Variable names the bug of a process from its start on.
const Variable = "BRAID_PLANTED"

var (
	first = os.Getenv(Variable)
	bug   atomic.Pointer[string]
)

// Is reports whether this is the bug that was asked for.
func Is(name string) bool {
	if b := bug.Load(); b != nil {
		return *b == name
	}
	return first == name
}

// Plant asks for a bug; "" for none.
func Plant(name string) { bug.Store(&name) }
