// Package foreign takes in values and panics of code that Braid does not own: tools, hooks, models and guardrails. What is
// wrong with them becomes an error of the call or of the run, and never ends the process.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/braidrun/braid/event"
)

// Panicked makes an error of what a deferred function has recovered. what panicked, such as "the tool".
func Panicked(op, what string, value any) *event.Error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Message: what + " panicked", Err: &event.PanicError{Value: value, Stack: debug.Stack()},
	}
}

// EndedGoroutine is the error of code that called [runtime.Goexit].
func EndedGoroutine(op, what string) *event.Error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Message: what + " ended the goroutine that called it", Err: &event.PanicError{},
	}
}

// Shield calls f and makes an error of its panic.
func Shield(op, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(op, what, v)
		}
	}()
	return Sound(f())
}

// Apart is [Shield] on a goroutine of its own, which f may end. What it gives comes once f is over.
func Apart(op, what string, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := error(EndedGoroutine(op, what))
		defer func() { done <- err }()
		err = Shield(op, what, f)
	}()
	return done
}

// Sound gives a usable error for one of foreign code. Braid asks each error for its text and for what it
// wraps, so one whose methods panic, or that wraps a nil pointer or itself, is replaced here.
func Sound(err error) (safe error) {
	if err == nil {
		return nil
	}
	odd := func(what string) *event.Error {
		return &event.Error{
			Kind: event.ErrInternal, Message: fmt.Sprintf("the error%s %T", what, err),
			Hint: "return a nil of type error, or an error that can be read",
		}
	}
	if IsNil(err) {
		return odd(" is a nil")
	}
	defer func() {
		if v := recover(); v != nil {
			e := odd(" panicked; it is a")
			e.Err = &event.PanicError{Value: v, Stack: debug.Stack()}
			safe = e
		}
	}()
	switch readable(err) {
	case errNilInside:
		return odd(" wraps a nil; it is a")
	case errEndless:
		return odd(" wraps too many others; it is a")
	}
	_ = err.Error()
	_, _ = errors.AsType[*event.Error](err) // methods named Is and As are foreign, too
	_ = errors.Is(err, context.Canceled)
	return err
}

// How the tree of an error may be unusable.
const (
	errReadable = iota
	errNilInside
	errEndless
)

// readable walks all that an error wraps, as errors.Is does, but not for ever.
func readable(err error) int {
	const most = 1000
	open := []error{err}
	for n := 0; len(open) > 0; n++ {
		if n == most {
			return errEndless
		}
		one := open[len(open)-1]
		open = open[:len(open)-1]
		if one == nil {
			continue
		}
		if IsNil(one) {
			return errNilInside
		}
		switch w := one.(type) { //nolint:errorlint // each error of the tree comes here
		case interface{ Unwrap() error }:
			open = append(open, w.Unwrap())
		case interface{ Unwrap() []error }:
			if open = append(open, w.Unwrap()...); len(open) > most {
				return errEndless
			}
		}
	}
	return errReadable
}

// IsNil reports whether an interface is nil or holds a nil pointer.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan:
		return r.IsNil()
	default:
		return false
	}
}

// HasNil reports whether one of the blocks is nil, or one inside of a tool's result.
func HasNil(blocks []event.Block) bool {
	for _, b := range blocks {
		if IsNil(b) {
			return true
		}
		if r, ok := b.(*event.ToolResult); ok && HasNil(r.Content) {
			return true
		}
	}
	return false
}

// FitBlock refuses a block that a log cannot keep.
func FitBlock(b event.Block) error {
	if HasNil([]event.Block{b}) {
		return &event.Error{Kind: event.ErrInvalid, Message: "a block is nil", Hint: "leave it out"}
	}
	_, err := event.AppendBlock(nil, b)
	return err
}
