package e2e

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// credential is one that must not open a route, as the headers of a request.
type credential struct {
	name    string
	headers []string
	// tenantless: the credential belongs to nobody, so each route answers 401.
	tenantless bool
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// Every route of the served document refuses every wrong credential, with the status that this credential
// deserves, and nothing of the victim has changed afterwards.
func TestEveryRouteRefusesWrongCredentials(t *testing.T) {
	t.Parallel()
	s := attackedServer(t)
	before := s.seen()
	for _, c := range s.wrongCredentials() {
		for i := range s.routes {
			r := &s.routes[i]
			if r.scope == "" {
				continue
			}
			got := s.attack(r.method, r.at(s.theirs), r.body, c.headers...)
			switch {
			case c.tenantless && got.status != http.StatusUnauthorized:
				t.Errorf("%s with %s: %d %.300s; want 401", r, c.name, got.status, got.body)
			case !c.tenantless && len(r.params) > 0 && got.status != http.StatusNotFound && got.status != http.StatusForbidden:
				t.Errorf("%s with %s: %d %.300s; want 404 or 403", r, c.name, got.status, got.body)
			}
			s.tellsNothing(r, c.name, got)
		}
	}
	s.lackingScopes()
	s.otherMethods()
	after := s.seen()
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s has changed:\n%s\n%s", path, was, after[path])
		}
	}
	s.unharmed()
}

// wrongCredentials are all that do not open what the victim has.
func (s *target) wrongCredentials() []credential {
	s.t.Helper()
	admin := func(method, path, body string, status int) map[string]any {
		s.t.Helper()
		return s.json(status, method, "/v1/admin"+path, body)
	}
	// A key that is revoked, one whose time is over, and those of a tenant that is inactive or erased.
	revoked := admin("POST", "/tenants/victim/keys", `{"scopes":["read","write","admin:read","admin:write"]}`, 201)
	admin("DELETE", "/tenants/victim/keys/"+revoked["id"].(string), "", 200)
	expires := time.Now().Add(time.Second).UTC()
	expired := admin("POST", "/tenants/victim/keys", `{"scopes":["read","write","admin:read","admin:write"],"expires_at":"`+expires.Format(time.RFC3339Nano)+`"}`, 201)
	gone := s.tenant("gone")
	admin("PATCH", "/tenants/gone", `{"status":"inactive"}`, 200)
	if res := s.ask("DELETE", "/v1/admin/tenants/gone", ""); res.StatusCode >= 300 {
		s.t.Fatalf("the tenant cannot be erased: %s", res.Status)
	}
	list := []credential{
		{"no credential", nil, true},
		{"an empty token", []string{"Authorization", "Bearer "}, true},
		{"another scheme", []string{"Authorization", "Token " + s.victim}, true},
		{"basic authentication", []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("victim:"+s.victim))}, true},
		{"a token without a scheme", []string{"Authorization", s.victim}, true},
		{"a cookie", []string{"Cookie", "token=" + s.victim}, true},
		{"garbage", bearer("garbage"), true},
		{"a long token", bearer(strings.Repeat("a", 10_000)), true},
		{"a cut token", bearer(s.victim[:len(s.victim)-1]), true},
		{"a longer token", bearer(s.victim + "a"), true},
		{"another case", bearer(strings.ToUpper(s.victim)), true},
		{"two tokens", bearer(s.attacker + "," + s.victim), true},
		{"the operator's token, cut", bearer(s.token[:len(s.token)-1]), true},
		{"a revoked key", bearer(revoked["token"].(string)), true},
		{"an expired key", bearer(expired["token"].(string)), true},
		{"a key of an erased tenant", bearer(gone), true},
		{"another tenant's key", bearer(s.attacker), false},
	}
	<-time.After(time.Until(expires)) // the server's clock is this one
	return list
}

// tellsNothing fails where an answer holds something of the victim.
func (s *target) tellsNothing(r *route, with string, got received) {
	s.t.Helper()
	if r.method == http.MethodGet && r.scope == "" {
		return
	}
	for name, id := range s.theirs {
		switch name {
		case "version", "token", "tenant", "agent", "server", "model", "shared model":
			continue // such names anybody may choose, too
		}
		if strings.Contains(got.body, id) && got.status < 400 {
			s.t.Errorf("%s with %s tells the victim's %s: %.300s", r, with, name, got.body)
		}
	}
	if strings.Contains(got.body, canary) && strings.Contains(got.body, "victim") {
		s.t.Errorf("%s with %s tells what is the victim's: %.300s", r, with, got.body)
	}
}

// lackingScopes asks each route with keys of the victim that have all scopes but those that the route wants.
func (s *target) lackingScopes() {
	s.t.Helper()
	tokens := map[string]string{}
	for _, scope := range allScopes {
		tokens[scope] = s.key("victim", scope)
	}
	for i := range s.routes {
		r := &s.routes[i]
		if r.scope == "" {
			continue
		}
		for _, scope := range allScopes {
			if scope == r.scope {
				continue
			}
			if got := s.attack(r.method, r.at(s.theirs), r.body, bearer(tokens[scope])...); got.status != http.StatusForbidden {
				s.t.Errorf("%s wants %s; with %s: %d %.300s", r, r.scope, scope, got.status, got.body)
			}
		}
	}
}

// otherMethods asks each path by methods that it does not have.
func (s *target) otherMethods() {
	s.t.Helper()
	has := map[string][]string{}
	for _, r := range s.routes {
		has[r.path] = append(has[r.path], r.method)
	}
	for i := range s.routes {
		r := &s.routes[i]
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECTED", "get"} {
			if slices.Contains(has[r.path], method) {
				continue
			}
			if got := s.attack(method, r.at(s.theirs), "", bearer(s.victim)...); got.status < 400 && method != http.MethodOptions {
				s.t.Errorf("%s %s: %d %.300s", method, r.path, got.status, got.body)
			}
		}
	}
}

// seen is what the victim and the operator read of the victim, by address.
func (s *target) seen() map[string]string {
	s.t.Helper()
	list := map[string]string{}
	for i := range s.routes {
		r := &s.routes[i]
		if r.method != http.MethodGet || slices.Contains(r.params, "token") || strings.HasSuffix(r.path, "/stream") {
			continue
		}
		switch r.scope {
		case "read", "admin:read":
		default:
			continue // the operator's own lists grow by what the tests make
		}
		if strings.Contains(r.path, "/audit") || strings.HasSuffix(r.path, "/keys") || strings.HasSuffix(r.path, "/keys/{key}") {
			continue // reading is in the audit, and the tests make keys
		}
		got := s.attack(r.method, r.at(s.theirs), "", bearer(s.victim)...)
		if got.status != 200 {
			s.t.Errorf("%s by its owner: %d %.300s", r, got.status, got.body)
		}
		list[r.at(s.theirs)] = got.body
	}
	return maps.Clone(list)
}
