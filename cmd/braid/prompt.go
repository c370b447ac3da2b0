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

// promptLimit is the maximum size of a prompt from standard input.
const promptLimit = term.LineLimit

// readPrompt returns the prompt: the arguments joined by spaces, with each "-" replaced by standard input.
// Without arguments it reads standard input, unless that is a terminal. fromStdin reports that standard
// input was read.
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
	return term.Invalid(`write it after the command: braid run "What is 6 times 7?"; or pipe it in`, "there is no prompt")
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

// checkText refuses text that is not UTF-8, because it could not be stored unchanged.
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
