package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/peterh/liner"
	"golang.org/x/term"

	"github.com/braidrun/braid/event"
)

// ErrAborted is what a line reader gives when Ctrl-C is pressed at its prompt.
var ErrAborted = errors.New("Ctrl-C at the prompt")

// LineReader reads what a person types. io.EOF is the end of the input.
type LineReader interface {
	// Line shows a prompt and reads a line. secret does not show what is typed.
	Line(ctx context.Context, prompt string, secret bool) (string, error)
	// Remember adds a line to the history.
	Remember(line string)
	Close()
}

// Keyboard is where lines come from, and what a line editor needs beside it.
type Keyboard struct {
	Stdin  io.Reader
	Stdout io.Writer
	Getenv func(string) string
	// OnExit registers what must be undone before the program ends; done undoes it now.
	OnExit func(undo func()) (done func())
}

// NewLineReader reads from a terminal with editing and history, and from
// anything else line by line. echo is where the pipe form writes prompts and
// what it read, so that the output reads like a conversation; nil for nowhere.
func NewLineReader(in Keyboard, echo io.Writer, ints *Interrupts) LineReader {
	if f, ok := in.Stdin.(*os.File); ok && IsTerminal(f) && IsTerminal(in.Stdout) && in.Getenv("TERM") != "dumb" {
		t := &TerminalLines{fd: int(f.Fd()), ints: ints}
		if was, err := term.GetState(t.fd); err == nil {
			in.OnExit(func() { t.putBack(was) })
		}
		t.state = liner.NewLiner()
		t.state.SetCtrlCAborts(true)
		t.done = in.OnExit(func() { _ = t.state.Close() })
		return t
	}
	// On a terminal what is typed shows itself.
	return &pipeLines{r: bufio.NewReader(in.Stdin), prompts: echo, echo: !IsTerminal(in.Stdin)}
}

// TerminalLines edits lines on a terminal. While it does, Ctrl-C is a key.
// It cannot be stopped, so signals act as they do between runs.
type TerminalLines struct {
	state *liner.State
	fd    int
	ints  *Interrupts
	done  func()
	// editing is set while the editor has the terminal.
	editing atomic.Bool
}

// putBack gives the terminal back as it was. A signal may end the program in the
// moment in which the editor, on another goroutine, shows its prompt and changes
// the terminal: it has time to get that over with, so that this comes last.
func (t *TerminalLines) putBack(was *term.State) {
	if t.editing.Load() {
		<-time.After(20 * time.Millisecond)
	}
	_ = term.Restore(t.fd, was)
}

func (t *TerminalLines) Line(ctx context.Context, prompt string, secret bool) (line string, err error) {
	defer t.ints.Pause()()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t.editing.Store(true)
	defer t.editing.Store(false)
	// The editor does the same, but only after the prompt is there to be answered.
	ctrlCAsKey(t.fd, true)
	defer ctrlCAsKey(t.fd, false)
	if secret {
		line, err = t.state.PasswordPrompt(prompt)
	} else {
		line, err = t.state.Prompt(prompt)
	}
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", ErrAborted
	}
	return line, err
}

func (t *TerminalLines) Remember(line string) { t.state.AppendHistory(line) }
func (t *TerminalLines) Close()               { t.done() }

// LineLimit bounds one line from a pipe.
const LineLimit = 32 << 20

// pipeLines reads lines from a pipe or a file. A read cannot be interrupted, so
// it happens beside the caller; a line that comes after the caller has given
// up is kept for the next one.
type pipeLines struct {
	r       *bufio.Reader
	prompts io.Writer
	echo    bool
	pending chan readLine
}

type readLine struct {
	text string
	err  error
}

func (l *pipeLines) Line(ctx context.Context, prompt string, secret bool) (string, error) {
	if l.prompts != nil {
		if _, err := io.WriteString(l.prompts, prompt); err != nil {
			return "", err
		}
	}
	if l.pending == nil {
		pending := make(chan readLine, 1)
		l.pending = pending
		go func() {
			text, err := readOneLine(l.r)
			pending <- readLine{text, err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-l.pending:
		l.pending = nil
		if l.echo && l.prompts != nil {
			shown := Clean(got.text)
			if secret {
				shown = "[hidden]"
			}
			if _, err := fmt.Fprintln(l.prompts, shown); err != nil {
				return "", err
			}
		}
		return got.text, got.err
	}
}

// readOneLine reads up to a line feed; the last line may lack it.
func readOneLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if !long {
			line.Write(piece)
			long = line.Len() > LineLimit
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && line.Len() == 0:
			return "", io.EOF
		case long:
			return "", &event.Error{
				Kind: event.ErrTooLarge, Message: fmt.Sprintf("the line is larger than %d MiB", LineLimit>>20),
				Hint: "send less, or let a tool read the file",
			}
		}
		return strings.TrimRight(line.String(), "\r\n"), nil
	}
}

func (l *pipeLines) Remember(string) {}
func (l *pipeLines) Close()          {}
