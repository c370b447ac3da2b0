//go:build unix

package mcptool

import (
	"os"
	"syscall"
)

// ownGroup makes the child the leader of a process group, so that what it
// starts (npx starts a shell, which starts node) ends with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks the group to end.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup ends whoever is left of the group; nobody is no error.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
