//go:build !linux

package mcptool

// stray is a process that has left its program's group. Only Linux is asked for them.
type stray struct{}

func straysOf(int) []stray { return nil }

func (stray) end() {}
