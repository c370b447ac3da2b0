//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeper is the first stage: the first process of the namespaces. It returns only before the command has started.
func keeper() error {
	if os.Getpid() != 1 {
		return step("starting the sandbox", syscall.EPERM)
	}
	unix.CloseOnExec(setupFile)
	unix.CloseOnExec(reportFile)
	// No process of the same user may look into this one, whose memory and files are not those of the command.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return step("hiding the sandbox's first process", err)
	}
	life := os.NewFile(setupFile, "setup")
	var s setup
	if err := json.NewDecoder(life).Decode(&s); err != nil {
		return step("reading the sandbox's setup", err)
	}
	go func() {
		// The program that called Run writes no more. So the end of this read is its end, or that of its interest.
		_, _ = io.Copy(io.Discard, life)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}()
	if err := prepare(&s); err != nil {
		return err
	}
	start := report{Level: Namespaces, Landlock: landlockVersion()}
	if start.Landlock > 0 {
		start.Level = Full
	}
	if start.Level < s.Least {
		return step("Landlock", syscall.ENOSYS)
	}
	main, err := startCommand(&s)
	if err != nil {
		return err
	}
	tell(start)
	watched := watch(&s.Limits)
	end := wait(main)
	end.Level, end.Landlock, end.Ended = start.Level, start.Landlock, true
	// All that the command has left behind ends here. The kernel does it as one step, so no process can fork out of it.
	_ = unix.Kill(-1, unix.SIGKILL)
	reap()
	end.Stopped, end.CPU = watched.stop(), used()
	tell(end)
	return exit()
}

// exit ends the keeper without a further report.
func exit() error {
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) //nolint:dogsled // it does not return
	return nil
}

// prepare makes the namespaces fit for the command.
func prepare(s *setup) error {
	boundPIDs(s.Limits.Processes)
	if err := buildRoot(s); err != nil {
		return err
	}
	if err := step("naming the sandbox", unix.Sethostname([]byte("sandbox"))); err != nil {
		return err
	}
	return step("starting the sandbox's loopback network", raiseLoopback())
}

// raiseLoopback makes 127.0.0.1 work inside, which many tests of programs need. It is the only network of the sandbox, and
// leads nowhere.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// startCommand starts the second stage and returns once the command has taken its place.
func startCommand(s *setup) (pid int, err error) {
	const doing = "starting the command"
	var told, tells, asked, asks *os.File
	if told, tells, err = os.Pipe(); err == nil {
		asked, asks, err = os.Pipe()
	}
	if err != nil {
		return 0, step(doing, err)
	}
	defer asked.Close()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, step(doing, err)
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{commandName}, &syscall.ProcAttr{ //nolint:gosec // this program itself
		Dir: "/", Files: []uintptr{nothing.Fd(), 1, 2, told.Fd(), asks.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	for _, f := range []*os.File{told, asks, nothing} {
		_ = f.Close()
	}
	if err != nil {
		return 0, step(doing, err)
	}
	err = json.NewEncoder(tells).Encode(s)
	_ = tells.Close()
	if err != nil {
		return 0, step(doing, err)
	}
	// The pipe closes when the command begins.
	if said := readReports(asked); len(said) > 0 {
		return 0, &reportError{said[0]}
	}
	return pid, nil
}

// reportError is a report of the second stage as the keeper's error.
type reportError struct{ report report }

// Error implements error.
func (e *reportError) Error() string { return e.report.Failed }

// Is says that a path is missing.
func (e *reportError) Is(target error) bool { return e.report.Missing && target == fs.ErrNotExist }

// wait reaps processes until main has ended, as the first process of a namespace must.
func wait(main int) report {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return report{Code: -1}
		case pid == main && status.Signaled():
			return report{Code: -1, Signal: int(status.Signal())}
		case pid == main:
			return report{Code: status.ExitStatus()}
		}
	}
}

// reap waits for all that is left after a kill.
func reap() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			return
		}
	}
}

// used returns the processor time of all processes that the keeper has reaped, and of those that these have reaped.
func used() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// lastCapability returns the kernel's last capability.
func lastCapability() uintptr {
	if n, err := strconv.Atoi(value("/proc/sys/kernel/cap_last_cap")); err == nil && n >= 0 && n < 64 {
		return uintptr(n)
	}
	return unix.CAP_LAST_CAP
}
