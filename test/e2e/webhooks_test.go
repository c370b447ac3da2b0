//go:build unix

package e2e

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is the endpoint of a webhook. It verifies each message as its users do.
type receiver struct {
	*httptest.Server

	t      *testing.T
	secret string

	mu sync.Mutex
	// hold is closed when requests are answered; nil answers at once.
	hold chan struct{}
	// ids are the webhook-ids of the messages about each run, in the order of their requests.
	ids map[string][]string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, ids: map[string][]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // its server was killed
		}
		r.mu.Lock()
		hold := r.hold
		hook, err := standardwebhooks.NewWebhook(r.secret)
		if err == nil {
			err = hook.Verify(body, q.Header)
		}
		var m struct {
			Type string `json:"type"`
			Data struct {
				Run string `json:"run_id"`
			} `json:"data"`
		}
		if err != nil || json.Unmarshal(body, &m) != nil || m.Type != "run.ended" {
			t.Errorf("got %s: %v", body, err)
		}
		r.ids[m.Data.Run] = append(r.ids[m.Data.Run], q.Header.Get("webhook-id"))
		r.mu.Unlock()
		if hold != nil {
			<-hold
		}
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// of waits for n messages about a run, and returns their ids.
func (r *receiver) of(run string, n int) []string {
	r.t.Helper()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		ids := r.ids[run]
		r.mu.Unlock()
		if len(ids) >= n {
			return ids
		}
		if time.Now().After(until) {
			r.t.Fatalf("the run %s has %d messages, want %d", run, len(ids), n)
		}
	}
}

// A server that is killed loses no message: not after a run has ended, not while it sends, and not at
// any other moment.
func TestNoMessageIsLost(t *testing.T) {
	t.Parallel()
	dir, to := filepath.Join(t.TempDir(), "data"), newReceiver(t)
	start := func() *site { return startServer(t, dir, "--model", "demo", "--allow-host", "127.0.0.1") }
	s := start()
	made := s.json(201, "POST", "/v1/admin/tenants/default/webhooks", `{"id":"office","url":"`+to.URL+`","events":["run.ended"]}`)
	to.secret, _ = made["secret"].(string)
	begin := func() string {
		conv, _ := s.json(201, "POST", "/v1/conversations", `{}`)["id"].(string)
		run, _ := s.json(202, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Hello"}`, "Prefer", "respond-async")["id"].(string)
		return run
	}
	kill := func() {
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.wait()
	}

	// While it sends.
	to.hold = make(chan struct{})
	run := begin()
	to.of(run, 1)
	kill()
	to.mu.Lock()
	close(to.hold)
	to.hold = nil
	to.mu.Unlock()
	s = start()
	if ids := to.of(run, 2); ids[0] != ids[1] {
		t.Errorf("the message has two ids: %v", ids)
	}

	// At any moment of several runs.
	var runs []string
	for range 6 {
		for range 4 {
			runs = append(runs, begin())
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		kill()
		s = start()
	}
	for _, run := range runs {
		ids := to.of(run, 1)
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("the run %s has two messages: %v", run, ids)
			}
		}
	}
}
