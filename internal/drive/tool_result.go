package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// toolEnd is how a tool call ended, on its way through the stages after it.
type toolEnd struct {
	// out is what the tool returned.
	out tool.Output
	// err is the error that the tool returned.
	err error
	// took is how long the tool ran.
	took time.Duration
	// skip names the stages that this end leaves out.
	skip stage
	// unknown is set where Reconcile could not tell what became of an earlier attempt, so that this one was not made.
	unknown bool
	// again is set where a hook wants the call made once more.
	again bool
	// made is the result as the stages so far have left it.
	made *event.ToolResult
	// event is the one that is to hold the result; nil for one that is not made yet.
	event *event.StepEnded
	// shown is what the model is shown instead of the result; nil for the result as it is.
	shown []event.Block
	// failure is the error beside the result.
	failure *event.Error
	// outcome is set where it is not done.
	outcome event.Outcome
}

// fail makes err the call's only result.
func (e *toolEnd) fail(err error) {
	*e = toolEnd{err: err, took: e.took, skip: e.skip, unknown: e.unknown}
}

// make makes the result of what the tool returned. Errors are results too: they never end the run.
func (e *toolEnd) make(c *runningCall) {
	whole := &struct { // one piece of memory for the result and its event
		event.StepEnded
		result event.ToolResult
	}{}
	e.event, e.made = &whole.StepEnded, &whole.result
	r := e.made
	r.Call, r.Name = c.ID, c.Name
	if e.err != nil {
		kind, text := toolFailure(c, e.err, e.took)
		r.IsError = true
		r.Content = []event.Block{&event.Text{Text: text}}
		e.failure = &event.Error{Op: "tool " + c.Name, Kind: kind, Message: strings.TrimPrefix(text, "Error: "), Err: e.err}
		return
	}
	r.Content, r.Structured, r.IsError = e.out.Content, e.out.Structured, e.out.IsError
	if len(r.Content) == 0 {
		text := "done"
		if len(r.Structured) > 0 {
			text = string(r.Structured)
		}
		r.Content = []event.Block{&event.Text{Text: text}}
	}
}

// maxResultBlocks bounds the blocks of one result: each costs memory, rows and bytes on the wire, also an empty one.
const maxResultBlocks = 1000

// fit makes a result one that the model can be shown and every log keep. It returns an error where the result was
// not one, and then the result says so.
func fit(c *runningCall, limit int, r *event.ToolResult) *event.Error {
	if foreign.HasNil(r.Content) {
		return unkept(c, r, errNilBlock)
	}
	text := ""
	if n := bytesOf(r.Content) + len(r.Structured); limit > 0 && n > limit {
		text = fmt.Sprintf("Error: the result is %s long, the limit is %s. Ask for less.", size(n), size(limit))
	} else if len(r.Content) > maxResultBlocks {
		text = fmt.Sprintf("Error: the result has %d blocks, the limit is %d. Ask for less.", len(r.Content), maxResultBlocks)
	}
	if text != "" {
		r.IsError, r.Structured = true, nil
		r.Content = []event.Block{&event.Text{Text: text}}
		return &event.Error{Op: "tool " + c.Name, Kind: event.ErrTooLarge, Message: strings.TrimPrefix(text, "Error: ")}
	}
	if err := keepable(r); err != nil {
		return unkept(c, r, err)
	}
	return nil
}

var errToolInResult = errors.New("it has a tool call or a tool result in it")

var errNilBlock = errors.New("one of its blocks is nil")

// unkept replaces a result that no log can keep by an error.
func unkept(c *runningCall, r *event.ToolResult, err error) *event.Error {
	text := "Error: the tool's result cannot be kept: " + err.Error() + "."
	r.IsError, r.Structured = true, nil
	r.Content = []event.Block{&event.Text{Text: text}}
	return &event.Error{Op: "tool " + c.Name, Kind: event.ErrInvalid, Message: strings.TrimPrefix(text, "Error: "), Err: err}
}

// keepable replaces bad UTF-8 in a result. It returns an error for what cannot be written as JSON. The tool's own
// slice is left as it is.
func keepable(r *event.ToolResult) error {
	if len(r.Structured) > 0 {
		if err := strictjson.Check(r.Structured, strictjson.DefaultDepth); err != nil {
			return err
		}
	}
	own := true
	for i, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			v := validText(b.Text)
			if v == b.Text {
				continue
			}
			if own {
				r.Content, own = slices.Clone(r.Content), false
			}
			r.Content[i] = &event.Text{Text: v, Signature: b.Signature}
		case *event.Image, *event.Document, *event.Media:
		case *event.ToolCall, *event.ToolResult:
			return errToolInResult
		default:
			if _, err := event.AppendBlock(nil, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// toolFailure returns the kind of a tool's error and the text for the model.
func toolFailure(c *runningCall, err error, took time.Duration) (event.ErrorKind, string) {
	var args *tool.ArgumentsError
	switch {
	case errors.As(err, &args):
		return event.ErrInvalid, "Error: " + validText(args.Error())
	case errors.Is(err, context.DeadlineExceeded) && c.traits().Timeout > 0 && took >= c.traits().Timeout:
		return event.ErrTimeout, fmt.Sprintf("Error: the tool did not finish within %v.", c.traits().Timeout)
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(c.Err(), context.DeadlineExceeded):
		return event.ErrTimeout, "Error: the run's time was over before the tool had finished."
	case errors.Is(err, context.Canceled):
		return event.ErrCancelled, "Error: the tool was cancelled."
	}
	kind := event.KindOf(err)
	var e *event.Error
	if errors.As(err, &e) && e.Message != "" {
		text := "Error: " + e.Message
		if e.Hint != "" {
			text += " (" + e.Hint + ")"
		}
		return kind, validText(text)
	}
	return kind, "Error: " + strings.TrimPrefix(validText(err.Error()), "Error: ")
}
