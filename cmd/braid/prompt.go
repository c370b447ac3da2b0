package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// promptLimit bounds what is read from standard input as one prompt.
const promptLimit = term.LineLimit

// readPrompt gives the text of the prompt: the arguments joined by spaces,
// each "-" replaced by what standard input holds. Without arguments standard
// input is read if it is no terminal. fromStdin tells that it has been used up.
func (p *process) readPrompt(args []string) (prompt string, fromStdin bool, err error) {
	if len(args) == 0 {
		if term.IsTerminal(p.Stdin) {
			return "", false, noPrompt()
		}
		args = []string{"-"}
	}
	parts := make([]string, 0, len(args))
	for _, arg := range args {
		if arg == "-" && !fromStdin {
			fromStdin = true
			if arg, err = p.readStdin(); err != nil {
				return "", true, err
			}
			arg = strings.TrimRight(arg, "\r\n")
		}
		parts = append(parts, arg)
	}
	prompt = strings.Join(parts, " ")
	if err := checkText("the prompt", prompt); err != nil {
		return "", fromStdin, err
	}
	if strings.TrimSpace(prompt) == "" {
		return "", fromStdin, noPrompt()
	}
	return prompt, fromStdin, nil
}

func noPrompt() error {
	return term.Invalid(`write it behind the command: braid run "What is 6 times 7?"; or pipe it in`, "there is no prompt")
}

// readStdin reads standard input to its end.
func (p *process) readStdin() (string, error) {
	data, err := io.ReadAll(io.LimitReader(p.Stdin, promptLimit+1))
	switch {
	case errors.Is(err, os.ErrClosed), errors.Is(err, os.ErrInvalid):
		return "", nil
	case err != nil:
		return "", &event.Error{
			Kind: event.ErrInvalid, Message: "standard input cannot be read", Err: err,
			Hint: "give the prompt as an argument",
		}
	case len(data) > promptLimit:
		return "", &event.Error{
			Kind: event.ErrTooLarge, Message: fmt.Sprintf("the prompt is larger than %d MiB", promptLimit>>20),
			Hint: "send less, or let a tool read the file",
		}
	}
	return string(data), nil
}

// checkText refuses what is no UTF-8: it could not be stored as it came.
func checkText(what, s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	at := 0
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				at = i
				break
			}
		}
	}
	return term.Invalid("convert it first, for example with: iconv -f SHIFT_JIS -t UTF-8",
		"%s is not UTF-8 text (byte %d)", what, at+1)
}
