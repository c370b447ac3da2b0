package vendor_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/vendor"
	"github.com/braidrun/braid/secret"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "-1": 0, "NaN": 0, "soon": 0, "1e300": 24 * time.Hour,
		"Sat, 21 Nov 2026 00:01:00 GMT": time.Minute, "Fri, 20 Nov 2026 00:00:00 GMT": 0,
	} {
		if got := vendor.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if got := vendor.RetryAfter(http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}}, now); got != 250*time.Millisecond {
		t.Errorf("milliseconds: %v", got)
	}
	if got := vendor.RetryAfter(nil, now); got != 0 {
		t.Errorf("no header: %v", got)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	key := secret.New("my own word")
	for said, want := range map[string]string{
		"":                                     "",
		"two\nlines\x1b[31m":                   "two lines [31m",
		"not my own word":                      "not " + key.Hide("my own word"),
		"sk-ant-api03-0123456789abcdef is old": "[redacted] is old",
		"AKIAIOSFODNN7EXAMPLE":                 "[redacted]",
		strings.Repeat("é", 400):               strings.Repeat("é", 300) + "…",
	} {
		if got := vendor.Line(said, key); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	if got := vendor.Line("so", secret.Secret{}); got != "so" {
		t.Errorf("without a key: %q", got)
	}
	if got := vendor.Tell("It failed.", "why"); got != "It failed: why" {
		t.Errorf("%q", got)
	}
	if got := vendor.Tell("It failed.", ""); got != "It failed." {
		t.Errorf("%q", got)
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for ctx, want := range map[context.Context]event.ErrorKind{cancelled: event.ErrCancelled, late: event.ErrTimeout} {
		if e := vendor.Ended("op", ctx); e.Kind != want || e.Err == nil || e.Op != "op" {
			t.Errorf("%+v, want %s", e, want)
		}
	}
	if e := vendor.NotSent("op", event.ErrInvalid, "no %d", "do", 7); e.Message != "no 7" || e.Hint != "do" || e.Kind != event.ErrInvalid {
		t.Errorf("%+v", e)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"https://host": true, "http://127.0.0.1:1/path": true, "": false, "host": false, "ftp://host": false, "https://u:p@host": false,
		"https://host?q": false, "https://host#f": false, "https://": false, "http://a b": false,
	} {
		if got := vendor.Address(s); got != want {
			t.Errorf("%q: %t", s, got)
		}
	}
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	t.Cleanup(elsewhere.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, elsewhere.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := vendor.Client().Do(req)
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
}
