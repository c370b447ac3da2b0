//go:build !linux

package mcptool

// stray is a process that a program has started. Only Linux is asked for them.
type stray struct{}

func straysOf(int) []stray { return nil }

func (stray) end() {}
