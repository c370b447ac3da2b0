package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// withUsers gives a server and its service a directory with these tenants.
func withUsers(t *testing.T, tenants ...string) (*directory.Directory, func(*service.Options, *server.Options)) {
	t.Helper()
	dir, with := withTenants(t, tenants...)
	return dir, func(so *service.Options, o *server.Options) {
		with(so, o)
		so.Directory = dir
		so.Workspaces = &workspace.Quota{}
	}
}

// userKey makes a key of a tenant's that names a user; "" names none.
func userKey(t *testing.T, d *directory.Directory, tenant, user string, scopes ...service.Scope) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []service.Scope{service.ScopeRead, service.ScopeWrite}
	}
	_, made, err := d.CreateKey(t.Context(), operator, directory.Key{Tenant: tenant, User: user, Scopes: scopes}, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.Reveal()
}

// setTenant changes a tenant's settings.
func setTenant(t *testing.T, d *directory.Directory, tenant string, change func(*directory.Tenant)) {
	t.Helper()
	_, err := d.UpdateTenant(t.Context(), operator, tenant, 0, func(t *directory.Tenant) error { change(t); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// administrator are the scopes with which belongings can be made.
var administrator = []service.Scope{service.ScopeRead, service.ScopeWrite, service.ScopeAdminRead, service.ScopeAdminWrite, service.ScopeOperator}

// Every route that names a conversation answers another user of the tenant as if there were no such
// conversation, unless the tenant says that users share them. A key without a user reaches all.
func TestUsersAreKeptApart(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha", "default")
	s := open(t, with)
	ann, bob := userKey(t, dir, "alpha", "ann", administrator...), userKey(t, dir, "alpha", "bob", administrator...)
	program := userKey(t, dir, "alpha", "")
	theirs, own := s.belongings("alpha", ann), s.belongings("alpha", bob)
	nobodys := unknown(theirs)
	seen := 0
	for _, d := range describedOperations(t) {
		// Models are the tenant's, and so are the servers to which each user signs in.
		tenants := d.path == "/v1/models" || d.method == http.MethodPost && d.path == "/v1/mcp-grants/{server}"
		if d.admin || d.scope == "" || d.scope == service.ScopeOperator || tenants {
			continue
		}
		t.Run(d.method+" "+d.path, func(t *testing.T) {
			s.foreign(t, &d, bob, theirs, own, nobodys)
			if len(d.params) == 0 {
				return
			}
			seen++
			if d.method != http.MethodGet { // what changes something is asked for below, on conversations of its own
				return
			}
			if r := s.replyOf(&d, d.address(theirs), program); r.Status != 200 {
				t.Errorf("a key without a user: %+v", r)
			}
		})
	}
	if seen < 15 {
		t.Errorf("only %d routes name a conversation", seen)
	}
	for name, isolation := range map[string]directory.Isolation{"shared": directory.IsolationTenant, "apart again": directory.IsolationUser} {
		setTenant(t, dir, "alpha", func(t *directory.Tenant) { t.Isolation = isolation })
		for _, d := range describedOperations(t) {
			if d.admin || len(d.params) == 0 || d.method != http.MethodGet {
				continue
			}
			want := 404
			if isolation == directory.IsolationTenant {
				want = 200
			}
			if r := s.replyOf(&d, d.address(theirs), bob); r.Status != want {
				t.Errorf("%s: %s %s: %+v", name, d.method, d.path, r)
			}
		}
	}
}

// What changes a conversation takes its user's key, or one without a user.
func TestWhoMayChangeAConversation(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha", "default")
	s := open(t, with)
	key := map[string]string{
		"ann": userKey(t, dir, "alpha", "ann", administrator...), "bob": userKey(t, dir, "alpha", "bob"), "": userKey(t, dir, "alpha", ""),
	}
	for who, allowed := range map[string]bool{"ann": true, "": true, "bob": false} {
		ids := s.belongings("alpha", key["ann"])
		here := "/v1/conversations/" + ids["id"]
		for _, c := range []struct {
			method, path, body string
			status             int
		}{
			{"PATCH", here, `{"title":"mine"}`, 200},
			{"POST", here + "/fork", "", 201},
			{"POST", here + "/questions/" + ids["token"], `{"answer":true}`, 200},
			{"POST", here + "/reset", "", 200},
		} {
			if !allowed {
				c.status = 404
			}
			res := s.ask(c.method, c.path, c.body, "Authorization", "Bearer "+key[who])
			if res.Body.Close(); res.StatusCode != c.status {
				t.Errorf("%q: %s %s: %d, want %d", who, c.method, c.path, res.StatusCode, c.status)
			}
		}
	}
}

// A program without a user makes conversations for users and hands them over; a user's key cannot.
func TestConversationsForUsers(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha")
	s := open(t, with)
	auth := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	ann, bob, program := auth(userKey(t, dir, "alpha", "ann")), auth(userKey(t, dir, "alpha", "bob")), auth(userKey(t, dir, "alpha", ""))

	annes := s.json(201, "POST", "/v1/conversations", `{"user":"ann"}`, program...)["id"].(string)
	nobodys := s.json(201, "POST", "/v1/conversations", ``, program...)["id"].(string)
	s.json(200, "GET", "/v1/conversations/"+annes, "", ann...)
	s.json(404, "GET", "/v1/conversations/"+nobodys, "", ann...)
	s.json(200, "PATCH", "/v1/conversations/"+nobodys, `{"user":"ann"}`, program...)
	s.json(200, "GET", "/v1/conversations/"+nobodys, "", ann...)
	s.json(404, "GET", "/v1/conversations/"+nobodys, "", bob...)

	s.json(201, "POST", "/v1/conversations", `{"user":"bob"}`, bob...)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/conversations", `{"user":"ann"}`},
		{"PATCH", "/v1/conversations/" + s.json(201, "POST", "/v1/conversations", "", bob...)["id"].(string), `{"user":"ann"}`},
	} {
		if got := s.json(403, c.method, c.path, c.body, bob...); got["error"].(map[string]any)["code"] != "KEY_BOUND_TO_USER" {
			t.Errorf("%s %s: %v", c.method, c.path, got)
		}
	}
	for _, user := range []string{strings.Repeat("x", 1025), "a\x00b"} {
		text, err := json.Marshal(user)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"user":` + string(text) + `}`
		s.json(400, "POST", "/v1/conversations", body, program...)
		s.json(400, "PATCH", "/v1/conversations/"+annes, body, program...)
	}

	list := func(query string, as []string) (ids []string) {
		for _, c := range s.json(200, "GET", "/v1/conversations"+query, "", as...)["data"].([]any) {
			ids = append(ids, c.(map[string]any)["user"].(string))
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	for _, c := range []struct {
		query string
		as    []string
		want  []string
	}{
		{"", ann, []string{"ann"}},
		{"", bob, []string{"bob"}},
		{"", program, []string{"ann", "bob"}},
		{"?user=ann", program, []string{"ann"}},
		{"?user=ann", bob, nil},
		{"?user=ann", ann, []string{"ann"}},
		{"?user=" + url.QueryEscape("nobody's"), program, nil},
		{"?user=", program, nil},
		{"?agent=none", program, nil},
	} {
		if got := list(c.query, c.as); !slices.Equal(got, c.want) {
			t.Errorf("%q lists the conversations of %v, want %v", c.query, got, c.want)
		}
	}
	// A cursor is good for the same user's list alone.
	next := s.json(200, "GET", "/v1/conversations?limit=1", "", program...)["next_cursor"].(string)
	s.json(400, "GET", "/v1/conversations?limit=1&cursor="+url.QueryEscape(next), "", ann...)
	s.json(400, "GET", "/v1/conversations?limit=1&user=ann&cursor="+url.QueryEscape(next), "", program...)
}

// A run that a program begins in a user's conversation is that user's, and so are its questions.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha", "default")
	s := open(t, with)
	setTenant(t, dir, "alpha", func(t *directory.Tenant) { t.Isolation = directory.IsolationTenant })
	ann, bob := userKey(t, dir, "alpha", "ann", administrator...), userKey(t, dir, "alpha", "bob", administrator...)
	program := userKey(t, dir, "alpha", "")
	answer := func(ids map[string]string, as string, status int) map[string]any {
		t.Helper()
		return s.json(status, "POST", "/v1/conversations/"+ids["id"]+"/questions/"+ids["token"], `{"answer":true}`, "Authorization", "Bearer "+as)
	}
	ids := s.belongings("alpha", ann)
	if got := answer(ids, bob, 403); got["error"].(map[string]any)["code"] != "ANSWER_NOT_YOURS" {
		t.Errorf("bob answers for ann: %v", got)
	}
	answer(ids, ann, 200)
	answer(s.belongings("alpha", ann), program, 200)
	setTenant(t, dir, "alpha", func(t *directory.Tenant) { t.Approvals = directory.ApprovalsAny })
	answer(s.belongings("alpha", ann), bob, 200)
	setTenant(t, dir, "alpha", func(t *directory.Tenant) { t.Isolation = directory.IsolationUser })
	answer(s.belongings("alpha", ann), bob, 404) // whom approvals let answer does not see more for that
}
