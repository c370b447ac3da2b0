package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/braidrun/braid/event"
)

// ExitPipe is the exit code when the reader of the output is gone: the one of a program that SIGPIPE ended.
const ExitPipe = 141

// Shown wraps an error that the user has already seen. It still sets the exit code.
type Shown struct{ Err error }

func (e Shown) Error() string { return e.Err.Error() }
func (e Shown) Unwrap() error { return e.Err }

// KindOf is [event.KindOf], and also knows the errors of the context package.
func KindOf(err error) event.ErrorKind {
	var e *event.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		return event.ErrCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return event.ErrTimeout
	}
	return event.KindOf(err)
}

// WriteError writes "braid: MESSAGE" and, if there is a hint, the next step. The error may contain text of
// a model or a tool, so it is cleaned.
func WriteError(w io.Writer, err error) {
	message, hint := Describe(err)
	fmt.Fprintf(w, "braid: %s\n", strings.ReplaceAll(message, "\n", "\n  "))
	if hint != "" {
		fmt.Fprintf(w, "  next: %s\n", strings.ReplaceAll(hint, "\n", "\n        "))
	}
}

// Describe returns the message and the hint of an error, cleaned for a terminal.
func Describe(err error) (message, hint string) {
	var e *event.Error
	if !errors.As(err, &e) {
		return Clean(err.Error()), ""
	}
	message = e.Message
	if message == "" {
		message = strings.TrimSuffix(KindOf(e).Info().Meaning, ".")
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
	}
	if e.Op != "" {
		message = e.Op + ": " + message
	}
	return Clean(message), Clean(flagNames.Replace(e.Hint))
}

// flagNames replaces the names of library fields in hints by the flags that set them.
var flagNames = strings.NewReplacer(
	"Limits.Conversation.CostNanoUSD", "--budget cost=", "Limits.Conversation.Cycles", "--budget cycles=",
	"Limits.Conversation.ToolCalls", "--budget tool_calls=", "Limits.Conversation.InputTokens", "--budget input_tokens=",
	"Limits.Conversation.OutputTokens", "--budget output_tokens=",
	"Limits.Conversation.TotalTokens", "--budget total_tokens=",
	"Limits.AllCycles", "--max-cycles", "Limits.AllToolCalls", "--max-tool-calls", "Limits.InputTokens", "--max-input-tokens",
	"Limits.OutputTokens", "--max-output-tokens", "Limits.CostNanoUSD", "--max-cost",
	"Limits.Cycles", "--max-cycles", "Limits.ToolCalls", "--max-tool-calls", "Limits.TotalTokens", "--max-total-tokens",
	"Options.MaxTokens", "--max-tokens", "Options.Temperature", "--temperature", "Options.TopP", "--top-p", "Options.Seed", "--seed",
	"Options.Effort", "--effort", "Options.Thinking", "--thinking-budget", "Options.Verbosity", "--verbosity",
	"Options.ServiceTier", "--service-tier", "Options.ServerTools", "--server-tool", "Options.Extra", "--model-extra",
	"Options.Headers", "--model-header",
)

// Invalid returns the error for a wrong command line or configuration.
func Invalid(hint, format string, args ...any) *event.Error {
	return &event.Error{Kind: event.ErrInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// OutputError gives a failed write of the output its error kind. It returns EPIPE unchanged: the reader is
// gone, and the program ends without a message.
func OutputError(err error) error {
	var e *event.Error
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE), errors.As(err, &e):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return &event.Error{
			Kind: event.ErrStorageFull, Message: "the output cannot be written: there is no space left",
			Hint: "free some space, or write elsewhere", Err: err,
		}
	}
	return &event.Error{
		Kind: event.ErrUnavailable, Message: "the output cannot be written",
		Hint: "check where standard output goes", Err: err,
	}
}
