package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// command is the built braid command. The zero value builds it at its first use.
type command struct{ folder, path string }

// build builds the command once and returns its path.
func (c *command) build(ctx context.Context) (path string, err error) {
	if c.path != "" {
		return c.path, nil
	}
	if c.folder, err = os.MkdirTemp("", "braid-bench-"); err != nil {
		return "", err
	}
	path = filepath.Join(c.folder, "braid.exe")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, //nolint:gosec // this module
		"github.com/braidrun/braid/cmd/braid")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the command: %w: %s", err, out)
	}
	c.path = path
	return path, nil
}

func (c *command) close() error {
	if c.folder == "" {
		return nil
	}
	return os.RemoveAll(c.folder)
}

// serve starts braid serve and waits until it listens at its address.
func (c *command) serve(ctx context.Context, s *scenario.Served) (*sideProcess, error) {
	path, err := c.build(ctx)
	if err != nil {
		return nil, err
	}
	args, err := s.Command()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // just built
	cmd.Env = commandEnv()
	log, err := os.Create(filepath.Join(s.Folder, "serve.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	undo, err := pinned(cmd.Start)
	if err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	p := &sideProcess{
		pid: pid, stats: func() (sideStat, error) { return statOf(pid) },
		end: sync.OnceValue(func() error {
			defer undo()
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
			return cmd.Wait()
		}),
	}
	if err := p.greeted(ctx, out, s); err != nil {
		said, _ := os.ReadFile(log.Name()) // it may be empty
		return nil, errors.Join(fmt.Errorf("braid serve: %w: %s", err, said), p.end())
	}
	return p, nil
}

// commandEnv returns this program's environment without the command's settings.
func commandEnv() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BRAID_") {
			env = append(env, v)
		}
	}
	return env
}

// greeted reads the address from the command's output, and the token from its folder.
func (p *sideProcess) greeted(ctx context.Context, out io.Reader, s *scenario.Served) error {
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return errors.Join(errors.New("it did not say where it listens"), lines.Err())
	}
	_, addr, ok := strings.Cut(lines.Text(), "http://")
	if !ok {
		return fmt.Errorf("it greeted with %q", lines.Text())
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return err
	}
	token, err := os.ReadFile(s.TokenFile())
	if err != nil {
		return err
	}
	p.addr, p.token = addr, strings.TrimSpace(string(token))
	for range 200 {
		var conn net.Conn
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			return conn.Close()
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}
