package sandbox

import (
	"strconv"

	"github.com/braidrun/braid/event"
)

// Level says how strong a sandbox is. A greater one is stronger.
type Level int

// The levels.
const (
	// None is no sandbox. Nothing runs at this level.
	None Level = iota
	// Namespaces isolates by namespaces, a file system of its own, a seccomp filter, resource limits and the loss of all
	// capabilities.
	Namespaces
	// Full also applies Landlock, a second and independent check of every access to a file.
	Full
)

var levelNames = [...]string{None: "none", Namespaces: "namespaces", Full: "full"}

// String returns the level's name: "none", "namespaces" or "full".
func (l Level) String() string {
	if l < None || l > Full {
		return "Level(" + strconv.Itoa(int(l)) + ")"
	}
	return levelNames[l]
}

// ParseLevel returns the level of a name that [Options.Least] takes: "namespaces" or "full". Any other name is
// [event.ErrInvalid].
func ParseLevel(name string) (Level, error) {
	for l := Namespaces; l <= Full; l++ {
		if levelNames[l] == name {
			return l, nil
		}
	}
	return None, &event.Error{
		Op: "sandbox", Kind: event.ErrInvalid, Message: strconv.Quote(name) + " is no level of a sandbox", Hint: "choose namespaces or full",
	}
}
