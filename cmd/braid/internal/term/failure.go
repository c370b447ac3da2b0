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

// ExitPipe is the exit code when the reader of the output has gone away: what
// a shell shows for a program that SIGPIPE ended.
const ExitPipe = 141

// Shown says that the command failed with a kind and that the person has
// already been told.
type Shown struct{ Err error }

func (e Shown) Error() string { return e.Err.Error() }
func (e Shown) Unwrap() error { return e.Err }

// KindOf is [event.KindOf] that also knows the errors of the context package.
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

// WriteError writes "braid: what happened" and, where there is one, the next
// step. An error may repeat what a model or a tool said, so it is cleaned.
func WriteError(w io.Writer, err error) {
	message, hint := Describe(err)
	fmt.Fprintf(w, "braid: %s\n", strings.ReplaceAll(message, "\n", "\n  "))
	if hint != "" {
		fmt.Fprintf(w, "  next: %s\n", strings.ReplaceAll(hint, "\n", "\n        "))
	}
}

// Describe gives what happened and what to do next, fit to be shown.
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

// flagNames names what the library's hints name by the flags that set it here.
var flagNames = strings.NewReplacer(
	"Limits.Conversation.CostNanoUSD", "--budget cost=", "Limits.Conversation.Cycles", "--budget cycles=",
	"Limits.Conversation.ToolCalls", "--budget tool_calls=", "Limits.Conversation.InputTokens", "--budget input_tokens=",
	"Limits.Conversation.OutputTokens", "--budget output_tokens=",
	"Limits.Conversation.TotalTokens", "--budget total_tokens=",
	"Limits.AllCycles", "--max-cycles", "Limits.AllToolCalls", "--max-tool-calls", "Limits.InputTokens", "--max-input-tokens",
	"Limits.OutputTokens", "--max-output-tokens", "Limits.CostNanoUSD", "--max-cost",
	"Limits.Cycles", "--max-cycles", "Limits.ToolCalls", "--max-tool-calls", "Limits.TotalTokens", "--max-total-tokens",
	"ModelOptions.MaxTokens", "--max-tokens",
	"Options.MaxTokens", "--max-tokens", "Options.Temperature", "--temperature", "Options.TopP", "--top-p", "Options.Seed", "--seed",
	"Options.Effort", "--effort", "Options.Thinking", "--thinking-budget", "Options.Verbosity", "--verbosity",
	"Options.ServiceTier", "--service-tier", "Options.ServerTools", "--server-tool", "Options.Extra", "--model-extra",
	"Options.Headers", "--model-header",
)

// Invalid is the error for a command line or configuration that is wrong.
func Invalid(hint, format string, args ...any) *event.Error {
	return &event.Error{Kind: event.ErrInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// OutputError gives a failed write of the output its kind. A reader that went
// away is kept as it is: that ends the program without a word.
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
