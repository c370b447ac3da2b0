package main

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

// errAborted is what a line reader gives when Ctrl-C is pressed at its prompt.
var errAborted = errors.New("Ctrl-C at the prompt")

// lineReader reads what a person types. io.EOF is the end of the input.
type lineReader interface {
	// line shows a prompt and reads a line. secret does not show what is typed.
	line(ctx context.Context, prompt string, secret bool) (string, error)
	// remember adds a line to the history.
	remember(line string)
	close()
}

// keyboard is where lines come from, and what a line editor needs beside it.
type keyboard struct {
	stdin  io.Reader
	stdout io.Writer
	getenv func(string) string
	// onExit registers what must be undone before the program ends; done undoes it now.
	onExit func(undo func()) (done func())
}

// newLineReader reads from a terminal with editing and history, and from
// anything else line by line. echo is where the pipe form writes prompts and
// what it read, so that the output reads like a conversation; nil for nowhere.
func newLineReader(in keyboard, echo io.Writer, ints *interrupts) lineReader {
	if f, ok := in.stdin.(*os.File); ok && isTerminal(f) && isTerminal(in.stdout) && in.getenv("TERM") != "dumb" {
		t := &terminalLines{fd: int(f.Fd()), ints: ints}
		if was, err := term.GetState(t.fd); err == nil {
			in.onExit(func() { t.putBack(was) })
		}
		t.state = liner.NewLiner()
		t.state.SetCtrlCAborts(true)
		t.done = in.onExit(func() { _ = t.state.Close() })
		return t
	}
	// On a terminal what is typed shows itself.
	return &pipeLines{r: bufio.NewReader(in.stdin), prompts: echo, echo: !isTerminal(in.stdin)}
}

// terminalLines edits lines on a terminal. While it does, Ctrl-C is a key.
// It cannot be stopped, so signals act as they do between runs.
type terminalLines struct {
	state *liner.State
	fd    int
	ints  *interrupts
	done  func()
	// editing is set while the editor has the terminal.
	editing atomic.Bool
}

// putBack gives the terminal back as it was. A signal may end the program in the
// moment in which the editor, on another goroutine, shows its prompt and changes
// the terminal: it has time to get that over with, so that this comes last.
func (t *terminalLines) putBack(was *term.State) {
	if t.editing.Load() {
		<-time.After(20 * time.Millisecond)
	}
	_ = term.Restore(t.fd, was)
}

func (t *terminalLines) line(ctx context.Context, prompt string, secret bool) (line string, err error) {
	defer t.ints.pause()()
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
		return "", errAborted
	}
	return line, err
}

func (t *terminalLines) remember(line string) { t.state.AppendHistory(line) }
func (t *terminalLines) close()               { t.done() }

// lineLimit bounds one line from a pipe.
const lineLimit = 32 << 20

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

func (l *pipeLines) line(ctx context.Context, prompt string, secret bool) (string, error) {
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
			shown := clean(got.text)
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
			long = line.Len() > lineLimit
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && line.Len() == 0:
			return "", io.EOF
		case long:
			return "", &event.Error{
				Kind: event.ErrTooLarge, Message: fmt.Sprintf("the line is larger than %d MiB", lineLimit>>20),
				Hint: "send less, or let a tool read the file",
			}
		}
		return strings.TrimRight(line.String(), "\r\n"), nil
	}
}

func (l *pipeLines) remember(string) {}
func (l *pipeLines) close()          {}
