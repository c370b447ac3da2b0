package client_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// What will not be otherwise the next time is told as it is, and not tried again.
func TestATrustThatIsNotThere(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	safe, plain := httptest.NewUnstartedServer(hello), httptest.NewUnstartedServer(hello)
	for _, s := range []*httptest.Server{safe, plain} {
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		t.Cleanup(s.Close)
	}
	safe.StartTLS()
	plain.Start()
	for address, says := range map[string]string{
		safe.URL: "certificate",
		"https" + strings.TrimPrefix(plain.URL, "http"): "speaks no TLS",
		"http" + strings.TrimPrefix(safe.URL, "https"):  "400 Bad Request",
	} {
		c, err := client.New(address, secret.New("t"), client.Options{
			HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Wait: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, getErr := c.Get(t.Context(), "conv_1")
		_, runErr := c.Start(t.Context(), "conv_1", "hello", client.RunOptions{})
		_, streamErr := errorOf(c.Stream(t.Context(), "conv_1", "hello", client.RunOptions{}))
		for what, err := range map[string]error{"a call": getErr, "a run": runErr, "a stream": streamErr} {
			e, ok := errors.AsType[*event.Error](err)
			if !ok || e.Kind != event.ErrInvalid || !strings.Contains(e.Message, says) || e.Hint == "" {
				t.Errorf("%s: %s: %v", address, what, err)
			}
		}
	}
}
