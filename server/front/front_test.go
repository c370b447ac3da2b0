package front_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
)

// Names of other servers and pages of other sites are refused; a page of a known site may ask before it asks.
func TestForeign(t *testing.T) {
	t.Parallel()
	origins := []string{"https://chat.example"}
	cross := &hostcheck.Cross{Origins: origins, Methods: http.MethodPost}
	for name, c := range map[string]struct {
		host, origin, method string
		answered, refused    bool
	}{
		"this machine":         {"localhost", "", http.MethodPost, false, false},
		"another name":         {"evil.example", "", http.MethodPost, false, true},
		"another site":         {"localhost", "https://evil.example", http.MethodPost, false, true},
		"a known site":         {"localhost", origins[0], http.MethodPost, false, false},
		"a known site asks it": {"localhost", origins[0], http.MethodOptions, true, false},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		answered, err := front.Foreign(httptest.NewRecorder(), r, nil, origins, cross)
		if answered != c.answered || (err != nil) != c.refused || err != nil && !errors.Is(err, event.ErrPermission) {
			t.Errorf("%s: answered %t, %v", name, answered, err)
		}
	}
}

// A request is counted and logged whatever it ends with, and an error or a panic is refused once.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func() error{
		"an error": func() error { return event.ErrThrottled },
		"a panic":  func() error { panic("oh") },
	} {
		var log bytes.Buffer
		observed, refused := 0, 0
		o := front.Options{
			Door: door.New(secret.New("token"), "t", nil), Log: slog.New(slog.NewTextHandler(&log, nil)),
			Observe: func(method, route string, status int, _ time.Duration) {
				if observed++; method != http.MethodPost || route != "/mine" || status != http.StatusTeapot {
					t.Errorf("%s is counted as %s %s %d", name, method, route, status)
				}
			},
			Refused: func(error) { refused++ },
		}.WithDefaults()
		w := httptest.NewRecorder()
		x := &front.Exchange{Options: &o, W: w, R: httptest.NewRequest(http.MethodPost, "/", nil), Route: "/mine", Run: "run_1"}
		x.Serve(serve, func(err error) {
			x.Refuse(&event.Error{Kind: event.KindOf(err), RetryAfter: 1500 * time.Millisecond}, http.StatusTeapot, "CODE")
			x.Head(http.StatusTeapot)
		})
		if observed != 1 || refused != 1 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%s: observed %d times, refused %d times, %v", name, observed, refused, w.Header())
		}
		if line := log.String(); !strings.Contains(line, "run=run_1 code=CODE") || strings.Contains(line, "tenant") {
			t.Errorf("%s is logged as %s", name, line)
		}
	}
}
