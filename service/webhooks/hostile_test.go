package webhooks_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// Endpoints of tenants are hostile: they point inside, redirect, answer without end, slowly or not at
// all. The report has no text of theirs.
func TestHostileEndpoints(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	secretSite := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	t.Cleanup(secretSite.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does a server see that its client has gone
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, secretSite.URL, http.StatusTemporaryRedirect)
		case "/endless":
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("canary", 1000))); err != nil {
					return
				}
			}
		case "/header":
			w.Header().Set("X-Large", strings.Repeat("canary", 100_000))
		case "/slow":
			<-r.Context().Done()
		case "/drip":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/cut":
			if h, ok := w.(http.Hijacker); ok {
				if conn, _, err := h.Hijack(); err == nil {
					_ = conn.Close()
				}
			}
		}
	}))
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(site.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	w := memory(t)
	sender, err := webhooks.NewTestSender(netguard.Options{Allow: []string{"127.0.0.1:" + port}, Timeout: 300 * time.Millisecond, MaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	o := webhooks.New(webhooks.Options{Database: w.db, Directory: w.people, Journal: w.logs, Sender: sender})
	t.Cleanup(o.Stop)
	for path, want := range map[string]struct {
		code  int
		fault string
	}{
		"/redirect": {307, "redirects are not followed"},
		"/endless":  {500, "status 500"},
		"/header":   {0, "cannot be reached"},
		"/slow":     {0, "does not answer"},
		"/drip":     {200, ""},
		"/cut":      {0, "cannot be reached"},
	} {
		id := strings.TrimPrefix(path, "/")
		_, _, err := w.people.CreateWebhook(t.Context(), of("acme"), directory.Webhook{
			Tenant: "acme", ID: id, WebhookSpec: directory.WebhookSpec{URL: site.URL + path},
		}, secret.Secret{}, "")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r, err := o.Test(t.Context(), "acme", id)
		if err != nil || r.Code != want.code || !strings.Contains(r.Error, want.fault) || r.OK != (want.fault == "") {
			t.Errorf("%s: %+v %v", path, r, err)
		}
		if strings.Contains(r.Error, "canary") || strings.Contains(r.Error, "127.0.0.1") || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %+v after %s", path, r, time.Since(began))
		}
	}
	if inside.Load() != 0 {
		t.Error("a redirect was followed")
	}
	for address, what := range map[string]string{
		"http://hooks.example/":       "http to",
		"https://127.0.0.1/":          "not public",
		"https://[::ffff:127.0.0.1]/": "not public",
		"https://2130706433/":         "unusual form",
		"https://169.254.169.254/":    "not public",
		"https://hooks.example:22/":   "port",
	} {
		err := sender.Check(&directory.Webhook{WebhookSpec: directory.WebhookSpec{URL: address}})
		if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != "WEBHOOK_INVALID" || !strings.Contains(e.Message, what) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := sender.Check(&directory.Webhook{WebhookSpec: directory.WebhookSpec{URL: "https://hooks.example/x?y=z"}}); err != nil {
		t.Error(err)
	}
}
