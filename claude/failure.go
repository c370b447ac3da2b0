package claude

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// op is the operation in this package's errors.
const op = "claude"

// ErrClosed is the error of a client whose process has ended.
var ErrClosed = &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the program has ended", Hint: "Open a new client."}

// ErrBusy is the error of a turn that begins while another one runs.
var ErrBusy = &event.Error{
	Op: op, Kind: event.ErrConflict, Message: "another turn of this client runs", Hint: "Wait for it, or open another client.",
}

func invalid(message, hint string, cause error) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint, Err: cause}
}

// ExitError is how the program ended.
type ExitError struct {
	// Code is the exit code; -1 for a signal.
	Code int
	// Signal names the signal; empty for none.
	Signal string
	// Stderr is the end of what the program wrote to its standard error. It may contain paths and should stay in logs.
	Stderr string
}

// Error implements error. It does not repeat Stderr.
func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "claude: the program was ended by signal " + e.Signal
	}
	return fmt.Sprintf("claude: the program ended with exit code %d", e.Code)
}

// tooOld reports whether the program refused an argument that it does not know.
func (e *ExitError) tooOld() bool {
	return e.Code != 0 && strings.Contains(e.Stderr, "unknown option")
}

// endedEarly is the error for a program that ended before it was asked to.
func endedEarly(exit *ExitError) error {
	if exit.tooOld() {
		return &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the program does not know an option of this package; it is too old",
			Hint: "Install version " + TestedVersion + " or newer.", Err: exit,
		}
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the program ended before the turn did",
		Hint: "See its standard error, with claude.Stderr or in the cause.", Err: exit,
	}
}

// ControlError is the program's refusal of a control request.
type ControlError struct {
	// Subtype is the request's.
	Subtype string
	Message string
	// Code is the program's; "unsupported_request" for a request that it does not know.
	Code string
}

// Error implements error.
func (e *ControlError) Error() string {
	return fmt.Sprintf("claude: the program refused the request %q: %s", e.Subtype, e.Message)
}

// Is says that a program is too old for a request.
func (e *ControlError) Is(target error) bool {
	return target == event.ErrUnsupported && e.Code == "unsupported_request"
}

// guarded calls f and returns a panic in it as an error without the panic's text.
func guarded(what string, f func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		err = &event.Error{
			Op: op, Kind: event.ErrInternal, Message: what + " panicked",
			Err: &event.PanicError{Value: v, Stack: debug.Stack()},
		}
	}()
	err = f()
	returned = true
	return err
}

// Err returns why a turn failed; nil for one that completed. Its kind is Braid's.
func (r *Result) Err() error {
	if !r.IsError && r.Subtype == "success" {
		return nil
	}
	kind, hint := r.kind()
	return &event.Error{Op: op, Kind: kind, Message: r.message(kind), Hint: hint}
}

// message is what users read. The program's own words are kept where they describe a failure of the model's provider.
func (r *Result) message(kind event.ErrorKind) string {
	if r.Subtype == "success" && r.Text != "" {
		return r.Text
	}
	switch {
	case kind == event.ErrCancelled:
		return "the turn was interrupted"
	case r.Subtype == "error_max_turns":
		return "the turn reached its largest number of model calls"
	case r.Subtype == "error_max_budget_usd":
		return "the turn reached its budget"
	}
	said := slices.DeleteFunc(slices.Clone(r.Errors), func(s string) bool { return strings.HasPrefix(s, "[ede_diagnostic]") })
	if len(said) == 0 {
		return "the program could not complete the turn"
	}
	return strings.Join(said, "; ")
}

// kind returns the kind of a failed turn, and what to do.
func (r *Result) kind() (kind event.ErrorKind, hint string) {
	switch r.Subtype {
	case "error_max_turns", "error_max_budget_usd":
		return event.ErrLimit, ""
	case "error_max_structured_output_retries":
		return event.ErrModel, "Ask for a simpler form."
	}
	switch r.TerminalReason {
	case "aborted_streaming", "aborted_tools":
		return event.ErrCancelled, ""
	case "prompt_too_long", "blocking_limit", "rapid_refill_breaker":
		return event.ErrContextOverflow, "Send less, or begin a new session."
	case "max_turns", "budget_exhausted":
		return event.ErrLimit, ""
	}
	if r.StartupFailure != "" || slices.ContainsFunc(r.Errors, func(s string) bool { return strings.Contains(s, "No conversation found") }) {
		return event.ErrNotFound, "Begin a new session."
	}
	if r.StopReason == "max_tokens" {
		return event.ErrMaxTokens, ""
	}
	return kindOfStatus(r.APIErrorStatus), ""
}

// kindOfStatus maps the HTTP status of a failed model call; 0 is none.
func kindOfStatus(status int) event.ErrorKind {
	switch status {
	case 401, 403:
		return event.ErrModelAuth
	case 404:
		return event.ErrModelNotFound
	case 413:
		return event.ErrTooLarge
	case 429:
		return event.ErrThrottled
	case 503, 529:
		return event.ErrOverloaded
	}
	return event.ErrModel
}
