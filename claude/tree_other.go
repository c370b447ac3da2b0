//go:build !unix

package claude

import (
	"os"
	"syscall"
)

// tree ends a program. What the program started ends when it reads the end of its input.
type tree struct{}

func trees() []tree                            { return []tree{{}} }
func (*tree) mayFail() bool                    { return false }
func (*tree) env() []string                    { return nil }
func (*tree) attributes() *syscall.SysProcAttr { return nil }
func (*tree) ask(*os.Process)                  {}
func (*tree) end(int)                          {}
func (*tree) kill(p *os.Process)               { _ = p.Kill() }

func signaled(syscall.WaitStatus) bool   { return false }
func signalOf(syscall.WaitStatus) string { return "" }
