package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
)

// Where the key is revoked, or its tenant made inactive, what it has opened ends at that moment: not
// with the look of every second. What other keys have opened goes on.
func TestACutIsAtOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, d *directory.Directory, key string) error{
		"revoked": func(ctx context.Context, d *directory.Directory, key string) error {
			_, err := d.RevokeKey(ctx, operator, "alpha", key)
			return err
		},
		"its tenant inactive": func(ctx context.Context, d *directory.Directory, _ string) error {
			_, err := d.UpdateTenant(ctx, operator, "alpha", 0, func(t *directory.Tenant) error { t.Status = directory.Inactive; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { cutAtOnce(t, end) })
		})
	}
}

func cutAtOnce(t *testing.T, end func(ctx context.Context, d *directory.Directory, key string) error) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := database.OpenMemory()
	must(err)
	dir := directory.New(directory.Options{Database: db, Keys: box{}})
	gate := make(chan struct{})
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{}, Directory: dir, LockWait: time.Hour,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", parrot{gate}, braid.Func("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return "over", nil
			}, tool.Pure())), nil
		},
	})
	must(err)
	must(svc.Start(t.Context()))
	handler, err := server.New(server.Options{Service: svc, Directory: dir, Token: secret.New(token), Tenant: "default"}, nil)
	must(err)
	for _, id := range []string{"alpha", "beta"} {
		_, err := dir.CreateTenant(t.Context(), operator, directory.Tenant{ID: id}, "")
		must(err)
	}
	cut, id := keyOf(t, dir, "alpha", service.ScopeRead, service.ScopeWrite)
	other, _ := keyOf(t, dir, "beta", service.ScopeRead, service.ScopeWrite)
	theirs, err := svc.CreateConversation(t.Context(), service.Principal{Tenant: "alpha"}, service.NewConversation{})
	must(err)
	others, err := svc.CreateConversation(t.Context(), service.Principal{Tenant: "beta"}, service.NewConversation{})
	must(err)

	type asked struct {
		what string
		w    *httptest.ResponseRecorder
		done chan struct{}
		stop context.CancelFunc
	}
	var all []*asked
	ask := func(what, token, method, path, accept string, body io.Reader) *asked {
		ctx, stop := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, method, strings.TrimSuffix("http://localhost/v1/conversations/"+path, "/"), body)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		a := &asked{what, httptest.NewRecorder(), make(chan struct{}), stop}
		go func() {
			defer close(a.done)
			handler.ServeHTTP(a.w, r)
		}()
		synctest.Wait()
		all = append(all, a)
		return a
	}
	const events = "text/event-stream"
	slow, send := io.Pipe()
	ask("a run", cut, "POST", theirs.ID+"/runs", events, strings.NewReader(`{"user_input":"use wait"}`))
	ask("a conversation", cut, "GET", theirs.ID+"/stream", events, http.NoBody)
	wait := ask("who waits for a result", cut, "POST", theirs.ID+"/runs", "application/json", strings.NewReader(`{"user_input":"again","policy":"queue"}`))
	locked := ask("who waits for the lock", cut, "POST", theirs.ID+"/runs", events, strings.NewReader(`{"user_input":"again"}`))
	sends := ask("who sends slowly", cut, "POST", "", events, slow)
	stays := ask("another tenant's", other, "POST", others.ID+"/runs", events, strings.NewReader(`{"user_input":"use wait"}`))
	time.Sleep(3300 * time.Millisecond) // in the middle between two looks
	begun := time.Now()
	must(end(t.Context(), dir, id))
	_, err = io.WriteString(send, `{"title":"late"}`)
	must(errors.Join(err, send.Close()))
	synctest.Wait()
	for _, a := range all {
		ended := false
		select {
		case <-a.done:
			ended = true
		default:
		}
		body := a.w.Body.String()
		switch {
		case a == stays:
			if ended || strings.Contains(body, "UNAUTHENTICATED") {
				t.Errorf("%s has ended: %s", a.what, body)
			}
		case !ended:
			t.Errorf("%s goes on", a.what)
		case (a == wait || a == locked) && a.w.Code != http.StatusUnauthorized, a == sends && a.w.Code != http.StatusUnauthorized && a.w.Code != http.StatusForbidden:
			t.Errorf("%s is answered with %d %s", a.what, a.w.Code, body)
		case a != wait && a != locked && a != sends && (a.w.Code != http.StatusOK || !strings.Contains(body[strings.LastIndex(body, "event: "):], `"UNAUTHENTICATED"`)):
			t.Errorf("%s ends with %d %s", a.what, a.w.Code, body)
		}
	}
	if runs, err := svc.ListRuns(t.Context(), service.Principal{Tenant: "alpha"}, theirs.ID, 0, 10); err != nil || len(runs) != 2 {
		t.Errorf("of the runs there are %d: %v", len(runs), err)
	}
	if took := time.Since(begun); took != 0 {
		t.Errorf("%v have passed", took)
	}
	close(gate)
	for _, a := range all {
		a.stop()
		<-a.done
	}
	must(svc.Drain(context.WithoutCancel(t.Context())))
	must(errors.Join(dir.Close(), db.Close()))
}
