//go:build unix

package nodes

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/secret"
)

// node is a braid serve process.
type node struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string
	url string
	log *safeBuffer
	// code is the exit code. Read it only after ended is closed.
	code  int
	ended chan struct{}
}

// safeBuffer can be written by one goroutine and read by another.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// environment returns the environment of a user without settings.
func environment(t *testing.T, more ...string) []string {
	home := t.TempDir()
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "TZ=UTC", "GORACE=atexit_sleep_ms=20",
	}, more...)
}

// command runs the command to its end, and returns its output and exit code.
func command(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), braid, args...)
	cmd.Env = environment(t, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// tokenFile holds the token of all nodes.
func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(plantedToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a node and waits until it answers.
func serve(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	n := start(t, env, args...)
	if n.url == "" {
		<-n.ended
		t.Fatalf("the node does not say where it is: %s", n.log)
	}
	return n
}

// start starts a node, which may fail to start.
func start(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), log: &safeBuffer{}, ended: make(chan struct{})}
	n.cmd = exec.Command(braid, append([]string{
		"serve", "--addr", "127.0.0.1:0", "--data", n.dir, "--model", script(), "--log", "json",
	}, args...)...)
	n.cmd.Env = environment(t, env...)
	n.cmd.Stderr = n.log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		if _, url, ok := strings.Cut(line, "braid serves on "); ok {
			n.url = url
		}
		if strings.HasPrefix(line, "  next") {
			break
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		_ = n.cmd.Wait()
		n.code = n.cmd.ProcessState.ExitCode()
		close(n.ended)
	}()
	t.Cleanup(func() {
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
		_ = n.cmd.Process.Kill()
		<-n.ended
		if log := n.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			t.Errorf("a node's log tells of trouble:\n%s", tail(log, 20_000))
		}
		if t.Failed() {
			t.Logf("the end of a node's log:\n%s", tail(n.log.String(), 3_000))
		}
	})
	return n
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Error(err)
	}
}

// stop stops the node, and returns the duration and the exit code.
func (n *node) stop() (time.Duration, int) {
	n.t.Helper()
	begun := time.Now()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(time.Minute):
		n.t.Error("the node does not end")
		return time.Minute, -1
	}
	return time.Since(begun), n.code
}

// client returns a client of the node that reconnects quickly.
func (n *node) client() *client.Client { return clientOf(n.t, n.url) }

func clientOf(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url, secret.New(plantedToken), client.Options{
		Silence: 20 * time.Second, Timeout: 10 * time.Second, Tries: 1000, Wait: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
