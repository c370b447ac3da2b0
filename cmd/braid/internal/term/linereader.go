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

// ErrAborted is the error of Line after Ctrl-C at its prompt.
var ErrAborted = errors.New("Ctrl-C at the prompt")

// LineReader reads lines that the user types. Line returns io.EOF at the end of the input.
type LineReader interface {
	// Line shows a prompt and reads a line. secret hides the typed text.
	Line(ctx context.Context, prompt string, secret bool) (string, error)
	// Remember adds a line to the history.
	Remember(line string)
	// Close restores the terminal.
	Close()
}

// Keyboard is the input of a line reader.
type Keyboard struct {
	Stdin  io.Reader
	Stdout io.Writer
	Getenv func(string) string
	// OnExit registers a function that must run before the program ends; done runs it now.
	OnExit func(undo func()) (done func())
}

// NewLineReader returns a reader with editing and history on a terminal, and a plain one for pipes and
// files. The plain one writes prompts and the lines it read to echo, so that the output reads like a
// conversation; nil writes nothing.
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
	// A terminal echoes typed text itself.
	return &pipeLines{r: bufio.NewReader(in.Stdin), prompts: echo, echo: !IsTerminal(in.Stdin)}
}

// TerminalLines edits lines on a terminal. Ctrl-C is a key while it does. The editor cannot be interrupted,
// so signals act as they do between runs.
type TerminalLines struct {
	state *liner.State
	fd    int
	ints  *Interrupts
	done  func()
	// editing is set while the editor controls the terminal.
	editing atomic.Bool
}

// putBack restores the terminal. A signal may end the program just when the editor, on another goroutine,
// changes the terminal to show its prompt. putBack waits for that change, so that it has the last word.
func (t *TerminalLines) putBack(was *term.State) {
	if t.editing.Load() {
		<-time.After(20 * time.Millisecond)
	}
	_ = term.Restore(t.fd, was)
}

// Line implements [LineReader].
func (t *TerminalLines) Line(ctx context.Context, prompt string, secret bool) (line string, err error) {
	defer t.ints.Pause()()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t.editing.Store(true)
	defer t.editing.Store(false)
	// The editor does this too, but only after it has shown the prompt.
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

// Remember implements [LineReader].
func (t *TerminalLines) Remember(line string) { t.state.AppendHistory(line) }

// Close implements [LineReader].
func (t *TerminalLines) Close() { t.done() }

// LineLimit is the maximum length in bytes of a line from a pipe.
const LineLimit = 32 << 20

// pipeLines reads lines from a pipe or a file. A read cannot be interrupted, so it runs on its own
// goroutine. If the caller gives up, the next call returns the late line.
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

// readOneLine reads up to a line feed or the end of the input.
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
