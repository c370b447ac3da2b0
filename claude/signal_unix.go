//go:build unix

package claude

import "syscall"

func signaled(w syscall.WaitStatus) bool   { return w.Signaled() }
func signalOf(w syscall.WaitStatus) string { return w.Signal().String() }
