package claude

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tree is a way to end a program with all that it started.
type tree struct {
	// namespace says that the program is the first process of a PID namespace. The kernel ends the namespace with it.
	namespace bool
	// user says that this needs a user namespace too.
	user bool
	// mark is an environment variable by which what the program started is found where there is no namespace.
	mark string
}

// noNamespace has tests do without.
var noNamespace bool

// trees lists the ways, the best first.
func trees() []tree {
	marked := tree{mark: "BRAID_CLAUDE_TREE=" + rand.Text()}
	switch {
	case noNamespace:
		return []tree{marked}
	case os.Geteuid() == 0:
		return []tree{{namespace: true}, marked}
	}
	return []tree{{namespace: true, user: true}, marked}
}

// mayFail reports whether the kernel may refuse this way.
func (t *tree) mayFail() bool { return t.namespace }

func (t *tree) env() []string {
	if t.mark == "" {
		return nil
	}
	return []string{t.mark}
}

func (t *tree) attributes() *syscall.SysProcAttr {
	if !t.namespace {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	}
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWPID}
	if t.user {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// ask asks the program to end.
func (*tree) ask(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

// kill ends the program and all that it started.
func (t *tree) kill(p *os.Process) {
	if !t.namespace {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	_ = p.Kill()
}

// end ends what is left after the program has.
func (t *tree) end(pid int) {
	if t.namespace {
		return
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	// What is marked may be about to start more. The bound is for processes that cannot be ended.
	for range 100 {
		left := t.marked()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// marked returns the processes with the mark that can be read and have not ended.
func (t *tree) marked() (pids []int) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + f.Name() + "/environ")
		if err == nil && bytes.Contains(env, []byte(t.mark)) && !isZombie(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat[max(bytes.LastIndexByte(stat, ')'), 0):]), " ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}
