//go:build !unix

package mcptool

import (
	"os"
	"syscall"
)

// Without process groups the child alone is ended.

func ownGroup() *syscall.SysProcAttr { return nil }

func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(int) {}
