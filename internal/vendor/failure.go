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

// Ended is the error of a call whose caller has had enough: cancelled, or its time
// is over.
func Ended(op string, ctx context.Context) *event.Error { //nolint:revive // the operation comes first everywhere
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Message: "The model's answer was cancelled.", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "The time was over before the model's answer was."
	}
	return e
}

// NotSent is the error of a request that the other side would refuse. The message
// is formatted with args.
func NotSent(op string, kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return &event.Error{Op: op, Kind: kind, Message: fmt.Sprintf(message, args...), Hint: hint}
}

// Tell puts what the other side said, fit for people, behind a message of ours.
func Tell(message, said string) string {
	if said == "" {
		return message
	}
	return strings.TrimSuffix(message, ".") + ": " + said
}

// Line is what the other side said, fit for people: one short line without the
// key, and without what has the form of one.
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

// RetryAfter reads how long the other side asks to wait: the milliseconds that some
// servers send, seconds, or a date. It is a day at most, and 0 where nothing can
// be read.
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

// Wait bounds a time to wait, in seconds, by 0 and a day.
func Wait(seconds float64) time.Duration {
	const most = 24 * time.Hour
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
}
