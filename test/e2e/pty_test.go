//go:build linux || darwin

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// terminal is a braid on a pseudo terminal, as a person has it.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File
	// line is the program's side, mode how it was before.
	line *os.File
	mode *term.State
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
	return onTerminalIn(t, size, environment(t, env...), args...)
}

func onTerminalIn(t *testing.T, size pty.Winsize, env []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(braid, args...)
	cmd.Env = env
	tty, line, err := pty.Open()
	if err != nil {
		t.Skipf("there is no pseudo terminal here: %v", err)
	}
	if err := pty.Setsize(line, &size); err != nil {
		t.Fatal(err)
	}
	mode, err := term.GetState(int(line.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tt := &terminal{t: t, cmd: cmd, tty: tty, line: line, mode: mode}
	tt.more = sync.NewCond(&tt.mu)
	for _, pair := range cmd.Env {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			tt.home = dir
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			tt.mu.Lock()
			tt.shown += string(buf[:n])
			tt.closed = err != nil
			tt.mu.Unlock()
			tt.more.Broadcast()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = line.Close()
		_ = tty.Close()
		<-done
	})
	return tt
}

// colours are what see looks through; also one that has not come whole.
var colours = regexp.MustCompile("\x1b(\\[[0-9;]*m?)?$|\x1b\\[[0-9;]*m")

// see waits until text appears behind what was seen before.
func (tt *terminal) see(text string) {
	tt.t.Helper()
	timeout := time.AfterFunc(time.Minute, func() {
		tt.mu.Lock()
		tt.closed = true
		tt.mu.Unlock()
		tt.more.Broadcast()
	})
	defer timeout.Stop()
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for {
		shown := colours.ReplaceAllString(tt.shown, "")
		if i := strings.Index(shown[tt.seen:], text); i >= 0 {
			tt.seen += i + len(text)
			return
		}
		if tt.closed {
			tt.t.Fatalf("waited for %q, the terminal shows %q", text, shown[tt.seen:])
		}
		tt.more.Wait()
	}
}

func (tt *terminal) press(keys string) {
	tt.t.Helper()
	if _, err := tt.tty.WriteString(keys); err != nil {
		tt.t.Fatal(err)
	}
}

// ends waits for the end of the program, and checks that it gives the terminal
// back as it was.
func (tt *terminal) ends(code int) {
	tt.t.Helper()
	done := make(chan struct{})
	go func() {
		_ = tt.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		tt.t.Fatalf("it does not end; the terminal shows %q", tt.all())
	}
	if got := tt.cmd.ProcessState.ExitCode(); got != code {
		tt.t.Errorf("exit code %d, want %d; the terminal shows %q", got, code, tt.all())
	}
	if mode, err := term.GetState(int(tt.line.Fd())); err != nil || !reflect.DeepEqual(mode, tt.mode) {
		tt.t.Errorf("the terminal is left as %+v (%v), it was %+v", mode, err, tt.mode)
	}
	if left, err := filepath.Glob(filepath.Join(tt.home, "*")); err != nil || len(left) > 0 {
		tt.t.Errorf("left behind: %v, %v", left, err)
	}
}

func (tt *terminal) all() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.shown
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

var wide = pty.Winsize{Rows: 40, Cols: 100}

func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "chat")
	tt.see("is a simulated model")
	tt.see("you> ")
	tt.press("3と5を足して\r")
	tt.see("Tool #1: calculator")
	tt.see("#1 calculator")
	tt.see("8")
	tt.see("simulated, not charged")
	tt.see("you> ")
	tt.press("What is 6 times 7?\r")
	tt.see("Tool #2: calculator")
	tt.see("42")
	tt.see("you> ")
	tt.press(ctrlD)
	tt.ends(0)
	if shown := tt.all(); !strings.Contains(shown, "\x1b[") {
		t.Error("there are no colours")
	}
}

// A chat whose server ends with it does not send people to that server: it says how to start one.
func TestServeChatOnATerminal(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "d")
	tt := onTerminal(t, wide, nil, "serve", "--chat", "--data", data)
	tt.see("you> ")
	tt.press("What is 6 times 7?\r")
	tt.see("42")
	tt.see("you> ")
	tt.press(ctrlD)
	tt.see("this server ends with the chat: braid serve --data")
	tt.see("--continue")
	tt.ends(0)
	if shown := tt.all(); !strings.Contains(shown, "7421") {
		t.Errorf("it names no address:\n%s", shown)
	}
}

// Ctrl-C cancels the run and not the program, in the middle of an answer.
func TestCtrlCCancelsTheRun(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "chat", "--model", "demo:tour")
	tt.see("you> ")
	tt.press("Show me what you can do.\r")
	tt.see("both tools") // the thinking is being played
	tt.press(ctrlC)
	tt.see("the run was cancelled")
	tt.see("you> ")
	if strings.Contains(tt.all(), "Lunch for 12") {
		t.Fatal("the answer came all the same")
	}
	tt.press("/model\r")
	tt.see("demo:tour, simulated")
	tt.see("you> ")
	tt.press(ctrlC)
	tt.see("Ctrl-C again")
	tt.see("you> ")
	tt.press(ctrlC)
	tt.ends(0)
}

// After a run was cancelled, one Ctrl-C at the prompt is the second one.
func TestTheSecondCtrlCEndsTheProgram(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "chat", "--model", "demo:tour")
	tt.see("you> ")
	tt.press("Show me what you can do.\r")
	tt.see("both tools")
	tt.press(ctrlC)
	tt.see("the run was cancelled")
	tt.see("you> ")
	tt.press(ctrlC)
	tt.ends(0)
}

func TestAToolAsksOnATerminal(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "chat", "--model", "demo:approval")
	tt.see("you> ")
	tt.press("Write a draft and delete it again.\r")
	tt.see("delete_file asks: ")
	tt.see("y/n> ")
	tt.press("perhaps\r")
	tt.see("please answer y or n")
	tt.see("y/n> ")
	tt.press("y\r")
	tt.see("#2 delete_file")
	tt.see("you> ")

	// Ctrl-C at a question cancels the run and not the program.
	tt.press("Write a draft and delete it again.\r")
	tt.see("y/n> ")
	tt.press(ctrlC)
	tt.see("the run was cancelled")
	tt.see("you> ")
	tt.press("Write a draft and delete it again.\r")
	tt.see("y/n> ")
	tt.press("n\r")
	tt.see("you> ")
	tt.press("/quit\r")
	tt.ends(0)
}

// A run on a terminal is watched as it goes, and Ctrl-C ends it with 130.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	tt := onTerminal(t, wide, nil, "run", "--model", "demo:tour", "Show me what you can do.")
	tt.see("both tools at once")
	tt.see("╭ ")
	tt.see("Tool #1: calculator")
	tt.see("✗")
	tt.see("✓")
	tt.see("Lunch for 12")
	tt.ends(0)
	if took := time.Since(begin); took < 300*time.Millisecond {
		t.Errorf("it took %s: nobody could watch it", took)
	}

	tt = onTerminal(t, wide, nil, "run", "--model", "demo:tour", "Show me what you can do.")
	tt.see("both tools")
	tt.press(ctrlC)
	tt.see("the run was cancelled")
	tt.ends(130)
}

// A single run asks too, with the same keys.
func TestARunAsksOnATerminal(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "run", "--model", "demo:approval", "Write a draft and delete it again.")
	tt.see("y/n> ")
	tt.press("y\r")
	tt.see("draft.txt is deleted")
	tt.ends(0)

	tt = onTerminal(t, wide, nil, "run", "--model", "demo:approval", "Write a draft and delete it again.")
	tt.see("y/n> ")
	tt.press(ctrlC)
	tt.see("the run was cancelled")
	tt.ends(130)
}

// A call that waits for permission is answered with a key; "a*" holds for the next run, until it
// is taken back.
func TestPermissionOnATerminal(t *testing.T) {
	t.Parallel()
	data := "BRAID_DATA=" + t.TempDir()
	ask := func() *terminal {
		tt := onTerminal(t, wide, []string{data}, "run", "--model", "demo:approval", "--ask", "write_*", "Write a draft and delete it again.")
		return tt
	}
	tt := ask()
	tt.see("May assistant run write_file?")
	tt.see("whatever the arguments")
	tt.see("y/c/a/n> ")
	tt.press("perhaps\r")
	tt.see("please answer with one of")
	tt.see("y/c/a/n> ")
	tt.press("a*\r")
	tt.see("#1 write_file")
	tt.see("y/n> ")
	tt.press("y\r")
	tt.see("draft.txt is deleted")
	tt.ends(0)

	tt = ask()
	tt.see("y/n> ")
	if strings.Contains(tt.all(), "May assistant") {
		t.Error("what is allowed always was asked for")
	}
	tt.press("y\r")
	tt.ends(0)

	tt = onTerminal(t, wide, []string{data}, "permissions", "forget", "all")
	tt.see("1 taken back")
	tt.ends(0)
	tt = ask()
	tt.see("y/c/a/n> ")
	tt.press("n it is Friday\r")
	tt.see("a person refused this call: it is Friday")
}

// The locale, NO_COLOR and a narrow window are followed.
func TestTerminalAbilities(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, pty.Winsize{Rows: 24, Cols: 30}, []string{"NO_COLOR=1", "LANG=C"}, "run", "--model", "demo:tour", "何ができますか。")
	tt.see("Tool #1: calculator")
	tt.see("120")
	tt.ends(0)
	if shown := tt.all(); regexp.MustCompile(`\x1b|[╭│╰✓✗]`).MatchString(shown) {
		t.Errorf("colours or symbols: %q", shown)
	}
	tt = onTerminal(t, pty.Winsize{Rows: 24, Cols: 30}, []string{"TERM=dumb", "LANG=C"}, "doctor")
	tt.see("a terminal that cannot move its cursor")
	tt.see("only 30 columns")
	tt.see("not UTF-8")
	tt.ends(0)
	tt = onTerminal(t, wide, []string{"TERM=dumb"}, "chat")
	tt.see("you> ")
	tt.press("What is 6 times 7?\n")
	tt.see("42")
	tt.see("you> ")
	tt.press(ctrlD)
	tt.ends(0)
}

// kill ends a chat in order, and gives the terminal back as it was.
func TestTerminateOnATerminal(t *testing.T) {
	t.Parallel()
	tt := onTerminal(t, wide, nil, "chat")
	tt.see("you> ")
	if err := tt.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	tt.ends(130)
}

// What is said on a terminal is kept, and listed in columns that fit its window.
func TestConversationsOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	tt := onTerminalIn(t, wide, p.env, "chat")
	tt.see("you> ")
	tt.press("今日の天気と、それから明日の予定について、できるだけ詳しく教えてください。\r")
	tt.see("simulated, not charged")
	tt.see("you> ")
	tt.press(ctrlD)
	tt.see("(braid chat --continue ")
	tt.ends(0)
	p.says("", "run", "-q", "What is 6 times 7?").wants(t, 0, "42", "")

	narrow := pty.Winsize{Rows: 24, Cols: 60}
	tt = onTerminalIn(t, narrow, p.env, "conversations")
	tt.see("ID        WHEN              TURNS  STATUS     FIRST WORDS\r\n")
	tt.see("completed  What is 6 tim…\r\n")
	tt.see("completed  今日の天気と…\r\n")
	tt.ends(0)
	for line := range strings.Lines(colours.ReplaceAllString(tt.all(), "")) {
		if w := runewidth.StringWidth(strings.TrimRight(line, "\r\n")); w > 60 {
			t.Errorf("%d columns: %q", w, line)
		}
	}

	tt = onTerminalIn(t, wide, p.env, "show")
	tt.see("conversation ")
	tt.see("you: What is 6 times 7?")
	tt.see("began effect=pure")
	tt.see("[run] ended status=completed why=end_turn")
	tt.ends(0)
	if !strings.Contains(tt.all(), "\x1b[32m[run] ended") {
		t.Error("there are no colours")
	}

	tt = onTerminalIn(t, wide, p.env, "chat", "-c")
	tt.see("(conversation ")
	tt.see("1 turn, the last one just now")
	tt.see("you> ")
	tt.press("What is 3 plus 4?\r")
	tt.see("The result of 3 + 4 is 7.")
	tt.see("you> ")
	tt.press("/quit\r")
	tt.ends(0)
	p.says("", "conversations", "-n", "1").wants(t, 0, "\t2\tcompleted\tWhat is 6 times 7?", "")
}

// A chat that was killed at a question asks again on a terminal, before the next prompt.
func TestContinueOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	tt := onTerminalIn(t, wide, p.env, "chat", "--model", "demo:approval")
	tt.see("you> ")
	tt.press(draft + "\r")
	tt.see("y/n> ")
	if err := tt.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = tt.cmd.Wait()
	tt = onTerminalIn(t, wide, p.env, "chat", "--continue", "--model", "demo:approval")
	tt.see("you> " + draft)
	tt.see("Tool #2: delete_file")
	tt.see("delete_file asks: ")
	tt.see("y/n> ")
	tt.press("y\r")
	tt.see("draft.txt is deleted")
	tt.see("you> ")
	tt.press(ctrlD)
	tt.ends(0)
	// Nothing was said in this program, but what it continued can be gone on with.
	p.says("", "show").wants(t, 0, "status=completed", "")
}
