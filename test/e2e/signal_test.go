//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// command is a braid that runs.
type command struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// scratch is the folder for temporary files.
	scratch string
	errs    *bytes.Buffer
}

func start(t *testing.T, args ...string) *command {
	t.Helper()
	return startIn(t, environment(t), args...)
}

func startIn(t *testing.T, env []string, args ...string) *command {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), braid, args...)
	cmd.Env = env
	errs := new(bytes.Buffer)
	cmd.Stderr = errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &command{Cmd: cmd, in: in, out: bufio.NewReader(out), errs: errs}
	for _, pair := range cmd.Env {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			c.scratch = dir
		}
	}
	return c
}

// waitFor reads the output until it holds text.
func (c *command) waitFor(t *testing.T, text string) {
	t.Helper()
	var got strings.Builder
	for !strings.Contains(got.String(), text) {
		b, err := c.out.ReadByte()
		if err != nil {
			t.Fatalf("%v while waiting for %q in %q; errors: %s", err, text, got.String(), c.errs)
		}
		got.WriteByte(b)
	}
}

// ends waits for the end and checks the exit code, and that nothing is left behind.
func (c *command) ends(t *testing.T, code int) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		t.Error(err)
	}
	err := c.Wait()
	if got := c.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d (%v), want %d; errors: %s", got, err, code, c.errs)
	}
	left, err := filepath.Glob(filepath.Join(c.scratch, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

const draft = "Write a draft and delete it again."

// A run that waits for a person is one that can be interrupted at leisure.
func TestSignalsCancelTheRun(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c := start(t, "run", "--model", "demo:approval", draft)
			c.waitFor(t, "y/n> ")
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			c.ends(t, 130)
			if want := "braid: the run was cancelled"; !strings.Contains(c.errs.String(), want) {
				t.Errorf("no %q in %q", want, c.errs)
			}
		})
	}
}

func TestSignalsWhileAPipedChatReads(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c := start(t, "chat")
			c.waitFor(t, "you> ")
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			c.ends(t, 130)
		})
	}
}

// SIGINT cancels the turn of a piped chat; the next line is the next turn.
func TestInterruptKeepsAPipedChat(t *testing.T) {
	t.Parallel()
	c := start(t, "chat", "--model", "demo:approval")
	if _, err := io.WriteString(c.in, draft+"\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, "y/n> ")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, "you> ")
	if _, err := io.WriteString(c.in, draft+"\ny\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, "draft.txt is deleted")
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 0)
	if want := "braid: the run was cancelled"; !strings.Contains(c.errs.String(), want) {
		t.Errorf("no %q in %q", want, c.errs)
	}
}

// braid run … | head -1 ends quietly.
func TestTheReaderGoesAway(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), braid, "run", "--model", "demo:tour", "Show me.")
	cmd.Env = environment(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 141 {
		t.Errorf("exit code %d", got)
	}
	if strings.Contains(errs.String(), "braid: ") {
		t.Errorf("it was not quiet: %s", &errs)
	}
	for _, pair := range cmd.Env {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		}
	}
}

// A prompt of 10 MB is taken, and one over the limit refused in good order.
func TestLargePrompts(t *testing.T) {
	t.Parallel()
	for size, code := range map[int]int{10 << 20: 0, 33 << 20: 16} {
		cmd := exec.CommandContext(t.Context(), braid, "run", "-q", "--model", "demo:tour", "-")
		cmd.Env = environment(t)
		cmd.Stdin = strings.NewReader(strings.Repeat("x", size))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != code {
			t.Errorf("%d bytes: %v, %s", size, err, &errs)
		}
	}
}

// Output is there as soon as it is said, not when the run is over: here the
// run is not over, for it waits for an answer.
func TestOutputIsNotHeldBack(t *testing.T) {
	t.Parallel()
	c := start(t, "run", "--json", "--model", "demo:approval", draft)
	c.waitFor(t, `"kind":"asked"`)
	c.waitFor(t, "\n")
	if _, err := io.WriteString(c.in, "y\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, `"kind":"result"`)
	c.ends(t, 0)
}
