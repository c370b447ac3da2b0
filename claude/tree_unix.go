//go:build unix && !linux

package claude

import (
	"os"
	"syscall"
)

// tree ends a program with all that it started and that has not left its process group.
type tree struct{}

func trees() []tree                            { return []tree{{}} }
func (*tree) mayFail() bool                    { return false }
func (*tree) env() []string                    { return nil }
func (*tree) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
func (*tree) ask(p *os.Process)                { _ = p.Signal(syscall.SIGTERM) }
func (*tree) end(pid int)                      { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func (*tree) kill(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}
