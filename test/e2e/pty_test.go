//go:build linux || darwin

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a braid on a pseudo terminal, as a person has it.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	home string

	mu     sync.Mutex
	more   *sync.Cond
	shown  string
	closed bool
	// seen is how much of shown, without its colours, has been waited for.
	seen int
}

func onTerminal(t *testing.T, size pty.Winsize, env []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(braid, args...)
	cmd.Env = environment(t, env...)
	tty, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		t.Skipf("there is no pseudo terminal here: %v", err)
	}
	term := &terminal{t: t, cmd: cmd, tty: tty}
	term.more = sync.NewCond(&term.mu)
	for _, pair := range cmd.Env {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			term.home = dir
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			term.mu.Lock()
			term.shown += string(buf[:n])
			term.closed = err != nil
			term.mu.Unlock()
			term.more.Broadcast()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = tty.Close()
		<-done
	})
	return term
}

// colours are what see looks through; also one that has not come whole.
var colours = regexp.MustCompile("\x1b(\\[[0-9;]*m?)?$|\x1b\\[[0-9;]*m")

// see waits until text appears behind what was seen before.
func (term *terminal) see(text string) {
	term.t.Helper()
	timeout := time.AfterFunc(20*time.Second, func() {
		term.mu.Lock()
		term.closed = true
		term.mu.Unlock()
		term.more.Broadcast()
	})
	defer timeout.Stop()
	term.mu.Lock()
	defer term.mu.Unlock()
	for {
		shown := colours.ReplaceAllString(term.shown, "")
		if i := strings.Index(shown[term.seen:], text); i >= 0 {
			term.seen += i + len(text)
			return
		}
		if term.closed {
			term.t.Fatalf("waited for %q, the terminal shows %q", text, shown[term.seen:])
		}
		term.more.Wait()
	}
}

func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := term.tty.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// ends waits for the end of the program.
func (term *terminal) ends(code int) {
	term.t.Helper()
	done := make(chan struct{})
	go func() {
		_ = term.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		term.t.Fatalf("it does not end; the terminal shows %q", term.all())
	}
	if got := term.cmd.ProcessState.ExitCode(); got != code {
		term.t.Errorf("exit code %d, want %d; the terminal shows %q", got, code, term.all())
	}
	if left, err := filepath.Glob(filepath.Join(term.home, "*")); err != nil || len(left) > 0 {
		term.t.Errorf("left behind: %v, %v", left, err)
	}
}

func (term *terminal) all() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

var wide = pty.Winsize{Rows: 40, Cols: 100}

func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, wide, nil, "chat")
	term.see("is a simulated model")
	term.see("you> ")
	term.press("3と5を足して\r")
	term.see("Tool #1: calculator")
	term.see("#1 calculator")
	term.see("8")
	term.see("simulated, not charged")
	term.see("you> ")
	term.press("What is 6 times 7?\r")
	term.see("Tool #2: calculator")
	term.see("42")
	term.see("you> ")
	term.press(ctrlD)
	term.ends(0)
	if shown := term.all(); !strings.Contains(shown, "\x1b[") {
		t.Error("there are no colours")
	}
}

// Ctrl-C cancels the run and not the program, in the middle of an answer.
func TestCtrlCCancelsTheRun(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, wide, nil, "chat", "--model", "demo:tour")
	term.see("you> ")
	term.press("Show me what you can do.\r")
	term.see("both tools") // the thinking is being played
	term.press(ctrlC)
	term.see("the run was cancelled")
	term.see("you> ")
	if strings.Contains(term.all(), "Lunch for 12") {
		t.Fatal("the answer came all the same")
	}
	term.press("/model\r")
	term.see("demo:tour, simulated")
	term.see("you> ")
	term.press(ctrlC)
	term.see("Ctrl-C again")
	term.see("you> ")
	term.press(ctrlC)
	term.ends(0)
}

// After a run was cancelled, one Ctrl-C at the prompt is the second one.
func TestTheSecondCtrlCEndsTheProgram(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, wide, nil, "chat", "--model", "demo:tour")
	term.see("you> ")
	term.press("Show me what you can do.\r")
	term.see("both tools")
	term.press(ctrlC)
	term.see("the run was cancelled")
	term.see("you> ")
	term.press(ctrlC)
	term.ends(0)
}

func TestAToolAsksOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, wide, nil, "chat", "--model", "demo:approval")
	term.see("you> ")
	term.press("Write a draft and delete it again.\r")
	term.see("delete_file asks: ")
	term.see("y/n> ")
	term.press("perhaps\r")
	term.see("please answer y or n")
	term.see("y/n> ")
	term.press("y\r")
	term.see("#2 delete_file")
	term.see("you> ")

	// Ctrl-C at a question cancels the run and not the program.
	term.press("Write a draft and delete it again.\r")
	term.see("y/n> ")
	term.press(ctrlC)
	term.see("the run was cancelled")
	term.see("you> ")
	term.press("/quit\r")
	term.ends(0)
}

// A run on a terminal is watched as it goes, and Ctrl-C ends it with 130.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	term := onTerminal(t, wide, nil, "run", "--model", "demo:tour", "Show me what you can do.")
	term.see("both tools at once")
	term.see("╭ ")
	term.see("Tool #1: calculator")
	term.see("✗")
	term.see("✓")
	term.see("Lunch for 12")
	term.ends(0)
	if took := time.Since(begin); took < 300*time.Millisecond || took > 15*time.Second {
		t.Errorf("it took %s: nobody could watch it", took)
	}

	term = onTerminal(t, wide, nil, "run", "--model", "demo:tour", "Show me what you can do.")
	term.see("both tools")
	term.press(ctrlC)
	term.see("the run was cancelled")
	term.ends(130)
}

// The locale, NO_COLOR and a narrow window are followed.
func TestTerminalAbilities(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, pty.Winsize{Rows: 24, Cols: 30}, []string{"NO_COLOR=1", "LANG=C"}, "run", "--model", "demo:tour", "何ができますか。")
	term.see("Tool #1: calculator")
	term.see("120")
	term.ends(0)
	if shown := term.all(); regexp.MustCompile(`\x1b|[╭│╰✓✗]`).MatchString(shown) {
		t.Errorf("colours or symbols: %q", shown)
	}
	term = onTerminal(t, pty.Winsize{Rows: 24, Cols: 30}, []string{"TERM=dumb", "LANG=C"}, "doctor")
	term.see("unable to move its cursor")
	term.see("only 30 columns")
	term.see("not UTF-8")
	term.ends(0)
	term = onTerminal(t, wide, []string{"TERM=dumb"}, "chat")
	term.see("you> ")
	term.press("What is 6 times 7?\n")
	term.see("42")
	term.see("you> ")
	term.press(ctrlD)
	term.ends(0)
}

// kill ends a chat in order, and gives the terminal back as it was.
func TestTerminateOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, wide, nil, "chat")
	term.see("you> ")
	if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	term.ends(130)
}
