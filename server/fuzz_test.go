package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// FuzzRequests sends anything to everything: whatever comes is never the server's own
// fault, and what is refused is refused in the one form.
func FuzzRequests(f *testing.F) {
	const conv = "conv_CONV" // the one that is there
	for _, seed := range []struct{ method, path, query, body, accept, id string }{
		{"GET", "/healthz", "", "", "", ""},
		{"OPTIONS", "*", "", "", "", ""},
		{"GET", "/v1/conversations", "limit=3&cursor=eyJjIjoxLCJpIjoieCJ9&archived=true", "", "", ""},
		{"GET", "/v1/conversations", "cursor=eyJjIjo5MjIzMzcyMDM2ODU0Nzc1ODA3LCJpIjoieCJ9", "", "", ""},
		{"GET", "/v1/conversations/" + conv, "", "", "", ""},
		{"GET", "/v1/conversations/" + conv + "/events", "after=1&limit=2", "", "", ""},
		{"GET", "/v1/conversations/" + conv + "/events", "after=9223372036854775807", "", "", ""},
		{"GET", "/v1/conversations/" + conv + "/stream", "after=1:2.3", "", "", "9:1.1"},
		{"GET", "/v1/conversations/" + conv + "/stream", "", "", "", "9223372036854775807"},
		{"GET", "/v1/conversations/" + conv + "/export", "", "", "", ""},
		{"GET", "/v1/conversations/" + conv + "/runs/run_x/stream", "", "", "", "1"},
		{"POST", "/v1/conversations", "", `{"title":"a","metadata":{"a":"b"}}`, "", ""},
		{"PATCH", "/v1/conversations/" + conv, "", `{"title":null,"archived":false,"metadata":{"a":""}}`, "", ""},
		{"POST", "/v1/conversations/" + conv + "/fork", "", `{"at":9223372036854775807}`, "", ""},
		{"POST", "/v1/conversations/" + conv + "/fork", "", `{"at":1}`, "", ""},
		{"POST", "/v1/conversations/" + conv + "/reset", "", ``, "", ""},
		{"POST", "/v1/conversations/" + conv + "/runs", "", `{"user_input":"hi","limits":{"max_turns":1,"timeout_seconds":1e3}}`, "application/json", ""},
		{"POST", "/v1/conversations/" + conv + "/runs", "", `{"user_input":"hi","output_schema":{"type":"object"},"policy":"steer"}`, "application/json", ""},
		{"POST", "/v1/conversations/" + conv + "/runs", "", `{"user_input":"hi","output_schema":{"$ref":"#/a/b"},"tokens":{"a":"b"}}`, "text/event-stream", ""},
		{"POST", "/v1/conversations/" + conv + "/runs", "", `{"attachments":[{"type":"image","mime_type":"image/png","data":"AA=="}],"policy":"queue"}`, "application/json", ""},
		{"POST", "/v1/conversations/" + conv + "/questions/q", "", `{"answer":null}`, "", ""},
		{"DELETE", "/v1/conversations/" + conv + "/../x", "", "", "", ""},
		{"GET", "/v1/admin/tenants", "status=active&sort=-created_at&limit=1&cursor=AAAAAAAAAAAA", "", "", ""},
		{"POST", "/v1/admin/tenants", "", `{"id":"a","limits":{"max_cost_usd":"0.5"},"policy":{"permissions":{"deny":["x*"]}}}`, "", ""},
		{"PATCH", "/v1/admin/tenants/default", "", `{"retention":{"conversations_days":9},"limits":null}`, "", ""},
		{"POST", "/v1/admin/tenants/default/agents", "", `{"id":"b","tools":[],"sub_agents":{"x":{"instructions":"y"}}}`, "", ""},
		{"PATCH", "/v1/admin/tenants/default/agents/helper", "", `{"instructions":"x","sub_agents":{"x":null}}`, "", ""},
		{"GET", "/v1/admin/tenants/default/agents/helper/versions/1", "", "", "", ""},
		{"POST", "/v1/admin/models", "", `{"id":"m","provider":"demo","name":"x","prices":{"input":"3.75"},"credential":{"env":"A"}}`, "", ""},
		{"POST", "/v1/admin/tenants/default/keys", "", `{"scopes":["read"],"expires_at":"2030-01-01T00:00:00Z"}`, "", ""},
		{"GET", "/v1/admin/tenants/default/usage/sums", "by=day&from=2026-11-21&to=2026-11-22T00:00:00Z", "", "", ""},
		{"GET", "/v1/admin/tenants/default/tools", "tool=x&run=y", "", "", ""},
		{"GET", "/v1/admin/tenants/default/conversations/" + conv + "/messages", "run=x", "", "", ""},
		{"PATCH", "/v1/admin/tenants/default/agents/helper", "", `{"name":"x"}`, "", `"1"`},
		{"GET", "/v1/admin/audit", "action=tenant.create&object=tenant/a", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.body, seed.accept, seed.id)
	}
	// And every route that there is, as its document has it.
	ids := map[string]string{
		"tenant": "default", "agent": "helper", "model": "small", "server": "crm", "key": "aaaaaaaaaaaaaaaa", "id": conv, "run": "run_x", "version": "1", "token": "q",
	}
	for _, d := range describedOperations(f) {
		f.Add(d.method, d.at(ids), "", d.body, "application/json", "")
		if len(d.query) > 0 {
			f.Add(d.method, d.at(ids), strings.Join(d.query, "=1&")+"=1", "", "", "")
			f.Add(d.method, d.at(ids), "limit=1&"+d.query[0]+"=", "", "", "1:1.1")
		}
	}
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{}, LockWait: -1,
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			parts := []braid.Part{braid.Limit(r.Limits)}
			if r.OutputSchema != nil {
				parts = append(parts, braid.OutputSchema(r.OutputSchema))
			}
			return braid.New("assistant", parrot{}, parts...), nil
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	if err := svc.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = svc.Drain(context.Background()) })
	db, err := database.OpenMemory()
	if err != nil {
		f.Fatal(err)
	}
	dir := directory.New(directory.Options{Database: db, Keys: box{}})
	f.Cleanup(func() { _ = errors.Join(dir.Close(), db.Close()) })
	if _, err := dir.CreateTenant(f.Context(), operator, directory.Tenant{ID: "default"}, ""); err != nil {
		f.Fatal(err)
	}
	if _, err := dir.CreateAgent(f.Context(), operator, directory.Agent{Tenant: "default", ID: "helper"}, ""); err != nil {
		f.Fatal(err)
	}
	if _, err := dir.CreateModel(f.Context(), operator, directory.Model{Tenant: "default", ID: "small", Provider: "demo", Name: "x"}, ""); err != nil {
		f.Fatal(err)
	}
	handler, err := server.New(server.Options{Service: svc, Directory: dir, Token: secret.New(token), Tenant: "default"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	me := service.Principal{Tenant: "default"}
	there, err := svc.CreateConversation(f.Context(), me, service.NewConversation{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, query, body, accept, id string) {
		if strings.Contains(body, "slowly") || strings.Contains(body, "break") || strings.Contains(body, `\u`) {
			t.Skip("these make the model itself fail")
		}
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond) // streams do not end
		defer stop()
		r := (&http.Request{
			Method: method, URL: &url.URL{Path: strings.ReplaceAll(path, conv, there.ID), RawQuery: query}, Host: "localhost",
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: path,
			Header: http.Header{
				"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {accept}, "Last-Event-Id": {id},
				"Idempotency-Key": {id}, "If-Match": revisions(id),
			},
			Body: http.NoBody,
		}).WithContext(ctx)
		if body != "" {
			r.Body, r.ContentLength = readCloser{strings.NewReader(body)}, int64(len(body))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= 500 && ctx.Err() == nil {
			t.Fatalf("%s %q?%q %q: %d %s", method, path, query, body, w.Code, w.Body)
		}
		if w.Code < 400 || r.Method == http.MethodHead {
			return
		}
		var e struct {
			Error struct {
				Code      string `json:"code"`
				Message   string `json:"message"`
				RequestID string `json:"request_id"`
			} `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error.Code == "" || e.Error.Message == "" || e.Error.RequestID == "" {
			t.Fatalf("%s %q?%q %q: %d %s", method, path, query, body, w.Code, w.Body)
		}
	})
}

// revisions is an If-Match for some of the ids.
func revisions(id string) []string {
	if strings.HasPrefix(id, `"`) {
		return []string{id}
	}
	return nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
