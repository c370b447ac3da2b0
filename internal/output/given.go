package output

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/shorten"
)

// Given returns the output of a scope: what the tool accepted, or else the text of the last message. The error
// continues the words "the answer" and says what is wrong. A long check ends when stop closes.
func (f *Form) Given(s *fold.Scope, stop <-chan struct{}) (json.RawMessage, error) {
	if r := s.LastResult(ToolName); r != nil && s.Fresh == event.WhyToolResults {
		if !r.IsError && len(r.Structured) > 0 {
			return r.Structured, nil
		}
		return nil, errors.New("is none that the tool has taken")
	}
	return f.read(event.RawText(s.Answer.Words), stop)
}

// read reads output from text. It removes a code fence, which models often add.
func (f *Form) read(text string, stop <-chan struct{}) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(text, "```"); ok {
		_, inside, _ = strings.Cut(inside, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inside), "```"))
	}
	raw := json.RawMessage(text)
	if err := f.Check(raw, stop); err != nil {
		return nil, err
	}
	return raw, nil
}

// Check checks output against the schema until stop closes. The error continues the words "the answer".
func (f *Form) Check(raw json.RawMessage, stop <-chan struct{}) error {
	err := f.checked.Check(stop, raw)
	switch _, misfit := errors.AsType[*schemacheck.Misfit](err); {
	case err == nil:
		return nil
	case misfit:
		return &problem{"does not keep to the schema that was asked for", err}
	case errors.Is(err, schemacheck.ErrBudget), errors.Is(err, schemacheck.ErrStopped):
		return &problem{"could not be checked", err}
	default:
		return &problem{"is no JSON", err}
	}
}

// problem is what is wrong with output.
type problem struct {
	// what is safe to show to anybody.
	what string
	// cause may hold parts of the output.
	cause error
}

// mostCause bounds the length of a cause in an error, in bytes.
const mostCause = 1024

func (p *problem) Error() string {
	return p.what + ": " + strings.ToValidUTF8(shorten.Text(p.cause.Error(), mostCause, "…"), "\uFFFD")
}

func (p *problem) Unwrap() error { return p.cause }

// Uncheckable reports whether the check exceeded its budget. Another output would only cost as much again.
func Uncheckable(err error) bool { return errors.Is(err, schemacheck.ErrBudget) }

// Stopped reports whether a check ended because its run must stop.
func Stopped(err error) bool { return errors.Is(err, schemacheck.ErrStopped) }

// Missing returns the error of a run without valid output.
func Missing(err error) *event.Error {
	what := "is not in the form that was asked for"
	if p, ok := errors.AsType[*problem](err); ok {
		what = p.what
	}
	kind, hint := event.ErrInvalid, "ask again, or make the schema easier to keep to"
	if Uncheckable(err) {
		kind, hint = event.ErrLimit, "make the schema simpler, with fewer references and alternatives, or ask for a shorter answer"
	}
	return &event.Error{Kind: kind, Message: "the answer " + what, Hint: hint, Err: err}
}

// Refused reports whether the scope's newest result is that the tool refused the output. A nil form refuses nothing.
func (f *Form) Refused(s *fold.Scope) bool {
	if f == nil || s.Fresh != event.WhyToolResults {
		return false
	}
	r := s.LastResult(ToolName)
	return r != nil && r.IsError
}
