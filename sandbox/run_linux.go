//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braidrun/braid/event"
)

// ready says that main has called Init, so that a stage will know itself.
var ready atomic.Bool

// Run runs a command in a sandbox and waits until all of its processes have ended. It is safe for concurrent use.
//
// The end of ctx ends the command, and Run returns the context's error. A command that ran into a limit, failed or was
// killed is no error: [Result] says so. The errors are [event.ErrInvalid] for wrong options, [event.ErrNotFound] for a
// folder that does not exist, and [event.ErrUnsupported] if the system cannot give the level, or the program has not called
// [Init]; then nothing has run.
func Run(ctx context.Context, o Options) (Result, error) {
	if !ready.Load() {
		return Result{}, &event.Error{
			Op: "sandbox", Kind: event.ErrUnsupported, Message: "this program cannot start sandboxes",
			Hint: "call sandbox.Init at the start of its main function",
		}
	}
	s, err := o.setup()
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, stopped(err)
	}
	limited, cancel := context.WithTimeout(ctx, s.Limits.Time)
	defer cancel()
	out := newOutput(s.Limits.Output)
	reports, err := keep(limited, s, out)
	result := Result{Code: -1}
	result.Output, result.Omitted = out.bytes()
	if err != nil {
		return result, err
	}
	if len(reports) > 0 {
		result.Level = reports[0].Level
	}
	last := report{}
	if n := len(reports); n > 0 {
		last = reports[n-1]
	}
	switch {
	case last.Failed != "":
		return Result{}, refused(&last)
	case last.Ended:
		result.Code, result.Signal, result.Stopped, result.CPU = last.Code, last.Signal, last.Stopped, last.CPU
		return result, nil
	case ctx.Err() != nil:
		return result, stopped(ctx.Err())
	case limited.Err() != nil:
		result.Stopped = StoppedTime
		return result, nil
	}
	return Result{}, &event.Error{
		Op: "sandbox", Kind: event.ErrUnavailable, Message: "the sandbox ended before its command", Hint: "look for a lack of memory on this machine",
	}
}

// setup returns what the keeper is told.
func (o *Options) setup() (*setup, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &setup{
		Args: o.Args, Env: o.Env, ReadOnly: o.ReadOnly, Protected: o.Protected, Dir: o.Dir, Readable: o.Readable,
		Limits: o.Limits.filled(), Least: or(o.Least, Full),
	}
	if o.Folder == "" {
		return s, nil
	}
	folder, err := filepath.Abs(o.Folder)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(folder); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err != nil {
		return nil, &event.Error{
			Op: "sandbox", Kind: event.ErrNotFound, Message: "the folder of the command cannot be opened", Hint: "make it first", Err: err,
		}
	}
	s.Folder = folder
	return s, nil
}

// grace is how long a killed keeper may take to go, with all processes of its namespace.
const grace = 10 * time.Second

// keep runs a keeper to its end and returns its reports.
func keep(ctx context.Context, s *setup, out io.Writer) ([]report, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, failed("the sandbox cannot be described", err)
	}
	theirs, mine, err := os.Pipe()
	if err != nil {
		return nil, failed("the sandbox cannot be started", err)
	}
	defer mine.Close()
	reports, writes, err := os.Pipe()
	if err != nil {
		_ = theirs.Close()
		return nil, failed("the sandbox cannot be started", err)
	}
	defer reports.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{keeperName}, []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}, "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{theirs, writes}
	cmd.SysProcAttr = namespaces()
	cmd.WaitDelay = grace
	err = cmd.Start()
	_, _ = theirs.Close(), writes.Close()
	if err != nil {
		return nil, unavailable(err)
	}
	told := make(chan []report, 1)
	go func() { told <- readReports(reports) }()
	// A keeper that has died does not read; its reports say why, or their lack.
	_, _ = mine.Write(append(body, '\n'))
	_ = cmd.Wait()
	return <-told, nil
}

// namespaces returns how a keeper is started: with new namespaces of every kind, as a user without any rights outside, who
// has all of them over the new namespaces until the command starts.
func namespaces() *syscall.SysProcAttr {
	every := make([]uintptr, 0, unix.CAP_LAST_CAP+1)
	for c := uintptr(0); c <= lastCapability(); c++ {
		every = append(every, c)
	}
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: every,
	}
}

// insideID is the id of user and group inside a sandbox.
const insideID = 1000

// readReports reads until the keeper has gone.
func readReports(r io.Reader) (list []report) {
	for d := json.NewDecoder(io.LimitReader(r, 64<<10)); ; {
		var one report
		if d.Decode(&one) != nil {
			return list
		}
		list = append(list, one)
	}
}

func failed(message string, err error) error {
	return &event.Error{Op: "sandbox", Kind: event.ErrUnavailable, Message: message, Hint: "try again", Err: err}
}

// stopped returns the error for a context that is done.
func stopped(err error) error {
	e := &event.Error{Op: "sandbox", Kind: event.ErrCancelled, Message: "the command was cancelled", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the time for the command was over", "allow more time"
	}
	return e
}
