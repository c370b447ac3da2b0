package sigv4

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Clock is the difference between a service's clock and this machine's. The zero value means no
// difference. It is safe for concurrent use.
type Clock struct{ ahead atomic.Int64 }

// Ahead returns how far the service's clock is ahead.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// codes are AWS's error codes for a signature of the wrong time. AWS uses each of them also for a
// wrong secret.
var codes = []string{"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException"}

// Correct sets the clock from a refused request. It reports whether only the time may be wrong, so
// that one more signature is worthwhile. used is the value of Ahead for the refused signature, code
// and header are the response's, and begun and ended are the times of the request. AWS's own SDKs
// do the same (aws-sdk-go-v2/aws/retry/middleware.go, "Clock Skew Correction").
func (c *Clock) Correct(used time.Duration, code string, header http.Header, begun, ended time.Time) bool {
	const (
		allowed = 4 * time.Minute  // AWS allows five
		trusted = 15 * time.Minute // a longer request is too inaccurate
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
