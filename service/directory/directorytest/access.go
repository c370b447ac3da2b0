package directorytest

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func authority(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	nothing := func(*directory.Tenant) error { return nil }
	for name, err := range map[string]error{
		"make a tenant":       second(d.CreateTenant(ctx, of("acme"), directory.Tenant{ID: "mine"}, "")),
		"make a shared model": second(d.CreateModel(ctx, of("acme"), model("", "big"), "")),
		"erase a tenant":      second(d.EraseTenant(ctx, of("acme"), "acme")),
		"raise a limit": second(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error {
			x.Limits.Cycles = 1000
			return nil
		})),
		"forget nothing": second(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error {
			x.Retention.Conversations = 1
			return nil
		})),
		"allow oneself": second(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error {
			x.Policy.Models = []string{"all"}
			return nil
		})),
		"go to sleep": second(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error {
			x.Status = directory.Inactive
			return nil
		})),
		"become the operator": third(d.CreateKey(ctx, of("acme"), directory.Key{
			Tenant: "acme", Scopes: []directory.Scope{directory.ScopeOperator},
		}, "")),
		"make nobody's key": third(d.CreateKey(ctx, of("acme"), directory.Key{Scopes: []directory.Scope{directory.ScopeRead}}, "")),
		"read the environment": second(d.CreateModel(ctx, of("acme"), directory.Model{
			Tenant: "acme", ID: "x", Provider: "demo", Name: "x", Credential: directory.Credential{Env: "HOME"},
		}, "")),
	} {
		want(t, name, err, event.ErrPermission, "SCOPE_MISSING")
	}
	must[directory.Tenant](t)(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error { x.SystemPrompt = "Hi."; return nil }))
	_, err := d.UpdateTenant(ctx, directory.By{}, "acme", 0, nothing)
	want(t, "nobody", err, event.ErrNotFound, "TENANT_NOT_FOUND")
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// Another tenant's is not there, whatever is done with it.
func isolation(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "evil")
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper"}, ""))
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), model("acme", "big"), ""))
	k, _, err := d.CreateKey(ctx, of("acme"), reading("acme"), "")
	done(t, err)
	evil := of("evil")
	// As somebody of evil, of acme: like a tenant that is not there.
	for name, err := range map[string]error{
		"update tenant": second(d.UpdateTenant(ctx, evil, "acme", 0, func(*directory.Tenant) error { return nil })),
		"create agent":  second(d.CreateAgent(ctx, evil, directory.Agent{Tenant: "acme", ID: "x"}, "")),
		"update agent":  second(d.UpdateAgent(ctx, evil, "acme", "helper", 0, func(*directory.Agent) error { return nil })),
		"create model":  second(d.CreateModel(ctx, evil, model("acme", "x"), "")),
		"update model":  second(d.UpdateModel(ctx, evil, "acme", "big", 0, func(*directory.Model) error { return nil })),
		"delete model":  d.DeleteModel(ctx, evil, "acme", "big", 0),
		"create key":    third(d.CreateKey(ctx, evil, reading("acme"), "")),
		"revoke key":    second(d.RevokeKey(ctx, evil, "acme", k.ID)),
	} {
		want(t, name, err, event.ErrNotFound, "TENANT_NOT_FOUND")
	}
	// As evil's own: like an id that is not there.
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"agent":        {second(d.GetAgent(ctx, "evil", "helper", 0)), "AGENT_NOT_FOUND"},
		"update agent": {second(d.UpdateAgent(ctx, evil, "evil", "helper", 0, func(*directory.Agent) error { return nil })), "AGENT_NOT_FOUND"},
		"model":        {second(d.GetModel(ctx, "evil", "big")), "MODEL_NOT_FOUND"},
		"update model": {second(d.UpdateModel(ctx, evil, "evil", "big", 0, func(*directory.Model) error { return nil })), "MODEL_NOT_FOUND"},
		"delete model": {d.DeleteModel(ctx, evil, "evil", "big", 0), "MODEL_NOT_FOUND"},
		"key":          {second(d.GetKey(ctx, "evil", k.ID)), "KEY_NOT_FOUND"},
		"revoke key":   {second(d.RevokeKey(ctx, evil, "evil", k.ID)), "KEY_NOT_FOUND"},
	} {
		want(t, name, c.err, event.ErrNotFound, c.code)
	}
	for name, n := range map[string]int{
		"agents": len(first(d.ListAgents(ctx, "evil", directory.Query{}))), "models": len(first(d.ListModels(ctx, "evil", directory.Query{}))),
		"keys": len(first(d.ListKeys(ctx, "evil", directory.Query{}))),
	} {
		if n != 0 {
			t.Errorf("evil sees %d %s", n, name)
		}
	}
	entries, _, err := d.Audit(ctx, "evil", directory.AuditQuery{})
	if err != nil || len(entries) != 1 || entries[0].Tenant != "evil" {
		t.Errorf("evil's audit is %+v: %v", entries, err)
	}
}

func first[T, U any](v T, _ U, _ error) T { return v }
