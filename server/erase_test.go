package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// An erased tenant is gone with its runs, its conversations and their logs; another one keeps all.
func TestEraseTenant(t *testing.T) {
	t.Parallel()
	dir, with := withTenants(t, "acme", "beta", "default")
	var forgotten []string
	s := open(t, func(so *service.Options, vo *server.Options) {
		with(so, vo)
		so.Directory = dir
		so.Forget = func(_ context.Context, c service.ConversationKey) error {
			forgotten = append(forgotten, c.Tenant+"/"+c.ID)
			return nil
		}
	})
	theirs, _ := keyOf(t, dir, "acme", service.Scopes()...)
	others, _ := keyOf(t, dir, "beta", service.Scopes()...)
	waiting, kept := s.belongings("acme", theirs), s.belongings("beta", others)
	with1 := []string{"Authorization", "Bearer " + theirs}
	running := s.json(201, "POST", "/v1/conversations", "", with1...)["id"].(string)
	s.json(202, "POST", "/v1/conversations/"+running+"/runs", `{"user_input":"use wait"}`, append(with1, "Prefer", "respond-async")...)
	put := s.json(201, "POST", "/v1/conversations", "", with1...)["id"].(string)
	s.json(200, "PATCH", "/v1/conversations/"+put, `{"archived":true}`, with1...)
	s.json(409, "DELETE", tenants+"/acme", "") // it is active
	if len(forgotten) > 0 {
		t.Fatalf("a tenant that is active has lost %v", forgotten)
	}
	if err := s.activate(dir, "acme", directory.Inactive); err != nil {
		t.Fatal(err)
	}
	erased := s.json(200, "DELETE", tenants+"/acme", "")
	if erased["keys"].(float64) < 2 || erased["conversations"] != 3.0 || erased["agents"] != 1.0 || erased["models"] != 1.0 {
		t.Errorf("erased: %v", erased)
	}
	for _, conv := range []string{waiting["id"], running, put} {
		if events, err := s.store.Read(t.Context(), conv, 0, 10); len(events) > 0 || err != nil && !errors.Is(err, event.ErrNotFound) {
			t.Errorf("%s has %d events, %v", conv, len(events), err)
		}
		if !strings.Contains(strings.Join(forgotten, " "), "acme/"+conv) {
			t.Errorf("the files of %s are there", conv)
		}
	}
	s.json(404, "GET", tenants+"/acme", "")
	s.json(401, "GET", "/v1/conversations", "", with1...)
	s.json(200, "GET", "/v1/conversations/"+kept["id"], "", "Authorization", "Bearer "+others)
	if len(forgotten) != 3 {
		t.Errorf("forgotten: %v", forgotten)
	}
	last := s.json(200, "GET", "/v1/admin/audit?limit=1", "")["data"].([]any)[0].(map[string]any)
	if last["action"] != "tenant.erase" || last["object"] != "tenant/acme" {
		t.Errorf("the operator's audit ends with %v", last)
	}
	// A new one of that id begins with nothing.
	s.json(201, "POST", tenants, `{"id":"acme"}`)
	if list := s.json(200, "GET", tenants+"/acme/conversations", "")["data"].([]any); len(list) != 0 {
		t.Errorf("the new one has %v", list)
	}
}
