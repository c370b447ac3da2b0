//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// runAs is the user whom the server belongs to; nil is the one who runs the tests.
type runAs struct{ uid, gid uint32 }

// dropRights finds a user who is not root: the server refuses to run as that.
func dropRights() (*runAs, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // the current user will do
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &runAs{uint32(uid), uint32(gid)}, nil
	}
	return nil, fmt.Errorf("%w; and run the tests as somebody else than root", ErrMissing)
}

// own gives the folder to the user.
func (r *runAs) own(folder string) error {
	if r == nil {
		return nil
	}
	return os.Chown(folder, int(r.uid), int(r.gid))
}

// run has the command run as the user, and apart from the terminal: an interrupt is
// for the tests.
func (r *runAs) run(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r != nil {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: r.uid, Gid: r.gid}
	}
}
