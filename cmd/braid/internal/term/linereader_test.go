package term

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestPipeLines(t *testing.T) {
	t.Parallel()
	var echo strings.Builder
	l := &pipeLines{r: bufio.NewReader(strings.NewReader("one\r\n\nthree\x1b")), prompts: &echo, echo: true}
	for _, want := range []string{"one", "", "three\x1b"} {
		got, err := l.Line(t.Context(), "> ", false)
		if err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if _, err := l.Line(t.Context(), "> ", false); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if got, want := echo.String(), "> one\n> \n> three␛\n> \n"; got != want {
		t.Errorf("echo %q, want %q", got, want)
	}
}

func TestPipeLinesHideASecret(t *testing.T) {
	t.Parallel()
	var echo strings.Builder
	l := &pipeLines{r: bufio.NewReader(strings.NewReader("hunter2\n")), prompts: &echo, echo: true}
	if got, err := l.Line(t.Context(), "secret> ", true); err != nil || got != "hunter2" {
		t.Errorf("got %q, %v", got, err)
	}
	if strings.Contains(echo.String(), "hunter2") {
		t.Errorf("the secret was shown: %q", echo.String())
	}
}

// A line that arrives after a read was abandoned is not lost.
func TestPipeLinesGiveUpAndGoOn(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	l := &pipeLines{r: bufio.NewReader(r)}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	if _, err := l.Line(ctx, "", false); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("got %v", err)
	}
	go func() {
		_, err := io.WriteString(w, "late\n")
		w.CloseWithError(err)
	}()
	if got, err := l.Line(t.Context(), "", false); err != nil || got != "late" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := l.Line(t.Context(), "", false); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadOneLineRefusesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	r := bufio.NewReader(io.MultiReader(strings.NewReader(strings.Repeat("x", LineLimit+5)), strings.NewReader("\nnext\n")))
	if _, err := readOneLine(r); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if got, err := readOneLine(r); err != nil || got != "next" {
		t.Errorf("the line behind it: %q, %v", got, err)
	}
}
