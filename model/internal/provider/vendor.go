package provider

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/vendor"
	"github.com/braidrun/braid/secret"
)

// Refused is [vendor.Refused].
type Refused = vendor.Refused

// ErrTooLong is [vendor.ErrTooLong].
var ErrTooLong = vendor.ErrTooLong

// Post is [vendor.Post].
func Post(ctx context.Context, c *http.Client, address string, header http.Header, body []byte) (*http.Response, error) {
	return vendor.Post(ctx, c, address, header, body)
}

// Send is [vendor.Send].
func Send(ctx context.Context, c *http.Client, method, address string, header http.Header, body []byte) (*http.Response, error) {
	return vendor.Send(ctx, c, method, address, header, body)
}

// Do is [vendor.Do].
func Do(c *http.Client, req *http.Request) (*http.Response, error) { return vendor.Do(c, req) }

// ReadAll is [vendor.ReadAll].
func ReadAll(r io.Reader, most int64) ([]byte, error) { return vendor.ReadAll(r, most) }

// Address is [vendor.Address].
func Address(s string) bool { return vendor.Address(s) }

// Client is [vendor.Client].
func Client() *http.Client { return vendor.Client() }

// Ended is [vendor.Ended].
func Ended(op string, ctx context.Context) *event.Error { //nolint:revive // the operation comes first everywhere
	return vendor.Ended(op, ctx)
}

// NotSent is [vendor.NotSent].
func NotSent(op string, kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return vendor.NotSent(op, kind, message, hint, args...)
}

// Tell is [vendor.Tell].
func Tell(message, said string) string { return vendor.Tell(message, said) }

// Line is [vendor.Line].
func Line(said string, key secret.Secret) string { return vendor.Line(said, key) }

// RetryAfter is [vendor.RetryAfter].
func RetryAfter(h http.Header, now time.Time) time.Duration { return vendor.RetryAfter(h, now) }

// Wait is [vendor.Wait].
func Wait(seconds float64) time.Duration { return vendor.Wait(seconds) }

// Unreached is [vendor.Unreached].
func Unreached(op, title, base, next string, err error) *event.Error {
	return vendor.Unreached(op, title, base, next, err)
}
