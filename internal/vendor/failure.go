package vendor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Ended returns the error of a call whose context was cancelled or timed out.
func Ended(op string, ctx context.Context) *event.Error { //nolint:revive // the operation comes first everywhere
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Message: "the model's answer was cancelled", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "the time was over before the model's answer was"
	}
	return e
}

// NotSent returns the error of a request that the server would refuse. It formats the message with
// args.
func NotSent(op string, kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return &event.Error{Op: op, Kind: kind, Message: fmt.Sprintf(message, args...), Hint: hint}
}

// Tell appends the server's message to ours.
func Tell(message, said string) string {
	if said == "" {
		return message
	}
	return strings.TrimSuffix(message, ".") + ": " + said
}

// Line returns the server's message as one short line, without the key and without texts that look
// like keys.
func Line(said string, key secret.Secret) string {
	said = key.Hide(said)
	places := secret.Find(said)
	for i := len(places) - 1; i >= 0; i-- {
		said = said[:places[i][0]] + "[redacted]" + said[places[i][1]:]
	}
	said = strings.Join(strings.FieldsFunc(said, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	const most = 300
	if r := []rune(said); len(r) > most {
		said = string(r[:most]) + "…"
	}
	return said
}

// RetryAfter returns how long the server asks to wait: in the milliseconds that some servers send,
// in seconds, or as a date. It is at most a day, and 0 if the headers say nothing.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return Wait(ms / 1000)
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return Wait(s)
	}
	if t, err := http.ParseTime(after); err == nil {
		return Wait(t.Sub(now).Seconds())
	}
	return 0
}

// Wait returns a duration of so many seconds, between 0 and a day.
func Wait(seconds float64) time.Duration {
	const most = 24 * time.Hour
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
}
