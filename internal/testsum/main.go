package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// Exit codes beyond those of the command.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitTimeout = 124
)

// quiet is how long nothing may be printed before the packages that are still
// running are named.
const quiet = 20 * time.Second

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("testsum", flag.ContinueOnError)
	flags.SetOutput(errOut)
	limit := flags.Duration("max", 0, "stop the command after this long; 0 means never")
	total := flags.String("total", "", "add the counts to this file")
	closing := flags.String("closing", "", "print the sum of the counts in this file, and run nothing")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if *closing != "" {
		sum, err := readTotals(*closing)
		if err != nil {
			fmt.Fprintln(errOut, "testsum:", err)
			return exitUsage
		}
		fmt.Fprintln(out, sum)
		return 0
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(errOut, "testsum: name the command to run, such as: go test -json ./...")
		return exitUsage
	}

	rep := newReport(out, module())
	code := watch(rep, flags.Args(), *limit, errOut)
	sum := rep.finish()
	if *total != "" {
		if err := addTotals(*total, sum); err != nil {
			fmt.Fprintln(errOut, "testsum:", err)
			code = exitFailed
		}
	}
	if code == 0 && sum.failed > 0 {
		return exitFailed
	}
	return code
}

// watch runs the command, feeds its lines to rep and gives its exit code. The
// command gets a process group of its own, so that a stop reaches the test
// programs that go test has started, too.
func watch(rep *report, args []string, limit time.Duration, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = errOut
	ownGroup(cmd)
	// What outlives a stop that long is cut off, so that a test program that
	// holds the pipe open cannot hold this one.
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(errOut, "testsum:", err)
		return exitUsage
	}

	lines := make(chan []byte)
	go func() {
		defer close(lines)
		r := bufio.NewReader(pipe)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	// Wait closes the pipe, so it must come after the last line; when the
	// command is stopped, it must not wait for one.
	stopped := context.AfterFunc(ctx, func() {
		time.AfterFunc(cmd.WaitDelay, func() { pipe.Close() })
	})
	defer stopped()

	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for open := true; open; {
		var line []byte
		select {
		case line, open = <-lines:
			if open && rep.line(line) {
				tick.Reset(quiet)
			}
		case <-tick.C:
			rep.alive(time.Now())
		}
	}

	err = cmd.Wait()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		rep.stopped(fmt.Sprintf("stopped: not done after %v", limit))
		return exitTimeout
	case ctx.Err() != nil:
		rep.stopped("stopped by a signal")
		return exitFailed
	case err == nil:
		return 0
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	fmt.Fprintln(errOut, "testsum:", err)
	return exitFailed
}

// module is the path that package names are shown without.
func module() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
}
