//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// command is the second stage: it gives up all rights and becomes the command. It returns only an error.
func command() error {
	// Capabilities, Landlock and the filter are bound to a thread. The command inherits those of the thread that starts it.
	runtime.LockOSThread()
	unix.CloseOnExec(setupFile)
	unix.CloseOnExec(reportFile)
	var s setup
	if err := json.NewDecoder(os.NewFile(setupFile, "setup")).Decode(&s); err != nil {
		return step("reading the command", err)
	}
	if err := chdir(&s); err != nil {
		return err
	}
	if err := step("no new privileges", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
		return err
	}
	if err := restrictFiles(s.Least == Full); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	env := environment(s.Env)
	filter, err := filterProgram()
	if err != nil {
		return step("the filter of system calls", err)
	}
	// The command is to leave room for the program that has asked for it.
	// The system call returns 20 less the priority. A program that has a lower one itself, as under nice, keeps it.
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || 20-now < lower {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, lower); err != nil {
			return step("lowering the priority", err)
		}
	}
	// From here on nothing may need memory, threads or files.
	if err := limit(&s.Limits); err != nil {
		return err
	}
	if err := applyFilter(filter); err != nil {
		return step("the filter of system calls", err)
	}
	return step("starting the command", syscall.Exec(s.Args[0], s.Args, env)) //nolint:gosec // that is what it is for
}

// chdir enters the command's folder.
func chdir(s *setup) error {
	dir := Scratch
	if s.Folder != "" {
		dir = path.Join(Workspace, s.Dir)
	}
	if err := os.Chdir(dir); err != nil {
		return step("entering the working folder", err)
	}
	// A link may lead elsewhere, where the command could go by itself too. But then its folder is not what was asked for.
	if got, err := os.Getwd(); err != nil || got != dir {
		return step("entering the working folder", syscall.ENOENT)
	}
	return nil
}

// environment returns the variables of the command.
func environment(own []string) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + Scratch, "TMPDIR=" + Scratch, "USER=agent",
		"LOGNAME=agent", "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/sh",
	}
	for _, one := range own {
		name, _, _ := strings.Cut(one, "=")
		for i := range env {
			if strings.HasPrefix(env[i], name+"=") {
				env[i], one = one, ""
				break
			}
		}
		if one != "" {
			env = append(env, one)
		}
	}
	return env
}

// limit sets the limits that the kernel keeps for each process, or each user of the namespace.
func limit(l *Limits) error {
	seconds := uint64(l.CPU.Seconds()) + 1
	for _, one := range []struct {
		name  string
		which int
		most  uint64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0},
		{"files", unix.RLIMIT_NOFILE, uint64(l.Files)},
		{"the size of files", unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		{"processor time", unix.RLIMIT_CPU, seconds},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10},
		{"message queues", unix.RLIMIT_MSGQUEUE, 64 << 10},
		{"signals", unix.RLIMIT_SIGPENDING, 1024},
		// The keeper's threads and those of this stage count too.
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes) + spareThreads},
		{"memory", unix.RLIMIT_DATA, uint64(l.Memory)},
	} {
		if err := syscall.Setrlimit(one.which, &syscall.Rlimit{Cur: one.most, Max: one.most}); err != nil {
			return step("the limit of "+one.name, err)
		}
	}
	return nil
}

const (
	spareThreads = 64
	// lower is the command's nice value.
	lower = 5
)

// dropCapabilities gives up all capabilities for good.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return step("dropping the ambient capabilities", err)
	}
	for c := uintptr(0); c <= lastBounding; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, syscall.EINVAL) { // the kernel has fewer
			return step("dropping the capabilities", err)
		}
	}
	const secure = 1 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, all locked; KEEP_CAPS locked off
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secure, 0, 0, 0); err != nil {
		return step("locking the capabilities", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return step("dropping the capabilities", unix.Capset(&head, &none[0]))
}

// lastBounding is above every capability that a kernel may know.
const lastBounding = 63

// restrictFiles applies Landlock. Where the level does not need it, a kernel without it is no error.
func restrictFiles(must bool) error {
	version := landlockVersion()
	if version == 0 {
		if must {
			return step("Landlock", syscall.ENOSYS)
		}
		return nil
	}
	return step("Landlock", applyLandlock(version))
}
