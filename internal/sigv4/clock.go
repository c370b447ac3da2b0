package sigv4

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Clock is the time of a service, as far ahead of this machine's as its answers say. The zero
// value is this machine's time. It is safe for concurrent use.
type Clock struct{ ahead atomic.Int64 }

// Ahead is how far the service's clock is ahead, for the time of the next signature.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// codes are AWS's words for a signature of the wrong time. Each is also said to a wrong secret.
var codes = []string{"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException"}

// Correct sets the clock by a refusal, and reports whether the time alone may be the reason for
// it: then the request is worth another signature, once. used is how far ahead the refused
// signature took the service to be; code is the refusal's, header that of its answer; begun
// and ended are when the request did. AWS's own SDKs do the same
// (aws-sdk-go-v2/aws/retry/middleware.go, "Clock Skew Correction").
func (c *Clock) Correct(used time.Duration, code string, header http.Header, begun, ended time.Time) bool {
	const (
		allowed = 4 * time.Minute  // AWS allows five
		trusted = 15 * time.Minute // the middle of a longer request says nothing
	)
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil || header.Get("Age") != "" || ended.Sub(begun) > trusted || !slices.Contains(codes, code) {
		return false
	}
	seen := date.Sub(begun.Add(ended.Sub(begun) / 2))
	if (used - seen).Abs() <= allowed {
		return false
	}
	c.ahead.Store(int64(seen))
	return true
}
