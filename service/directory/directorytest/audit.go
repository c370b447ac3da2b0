package directorytest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func audit(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	must[directory.Tenant](t)(d.UpdateTenant(ctx, of("acme"), "acme", 0, func(x *directory.Tenant) error {
		x.Name, x.SystemPrompt = "Acme", strings.Repeat("x", 1000)
		return nil
	}))
	done(t, d.Record(ctx, of("acme"), "acme", "conversation.delete", "conversation/conv_1", map[string]int{"runs": 3}))
	entries, next, err := d.Audit(ctx, "acme", directory.AuditQuery{})
	done(t, err)
	if len(entries) != 3 || next != "" {
		t.Fatalf("the audit is %+v", entries)
	}
	newest := entries[0]
	if newest.Seq != 3 || newest.Action != "conversation.delete" || newest.Object != "conversation/conv_1" || !sameBy(newest.By, of("acme")) ||
		string(newest.Detail) != `{"runs":3}` || len(newest.Hash) != 32 || time.Since(newest.Time) > time.Minute {
		t.Errorf("the newest entry is %+v", newest)
	}
	// A short value is told, a long one is not.
	if got := string(entries[1].Detail); got != `{"name":{"to":"Acme"},"system_prompt":{}}` {
		t.Errorf("a change is told as %s", got)
	}
	for _, q := range []directory.AuditQuery{{Action: "tenant.update"}, {Object: "tenant/acme", Limit: 1}} {
		list, next, err := d.Audit(ctx, "acme", q)
		done(t, err)
		if len(list) != 1 || list[0].Action != "tenant.update" || (next != "") != (q.Object != "") {
			t.Errorf("%+v gives %+v, then %q", q, list, next)
		}
	}
	for _, id := range []string{"acme", "", "nobody"} {
		v := must[directory.Verified](t)(d.VerifyAudit(ctx, id))
		if want := map[string]int64{"acme": 3, "": 1}[id]; v.Broken != 0 || v.Entries != want {
			t.Errorf("the audit of %q is %+v, want %d entries", id, v, want)
		}
	}
}

// audited holds that each change is an entry, by whom it was made, and that what changes nothing is none.
func audited(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	by, other := of("acme"), of("acme")
	other.User = "bob"
	name := func(name string) func(*directory.Agent) error {
		return func(a *directory.Agent) error { a.Name = name; return nil }
	}
	must[directory.Agent](t)(d.CreateAgent(ctx, by, directory.Agent{Tenant: "acme", ID: "helper"}, ""))
	must[directory.Agent](t)(d.UpdateAgent(ctx, other, "acme", "helper", 0, name("Helper")))
	must[directory.Agent](t)(d.UpdateAgent(ctx, by, "acme", "helper", 0, name("Helper"))) // it is called so
	must[directory.Model](t)(d.CreateModel(ctx, by, model("acme", "big"), ""))
	for range 2 {
		must[directory.Model](t)(d.UpdateModel(ctx, by, "acme", "big", 0, func(m *directory.Model) error {
			m.Aliases = []string{"opus"}
			return nil
		}))
	}
	key, _, err := d.CreateKey(ctx, by, reading("acme"), "")
	done(t, err)
	for range 2 {
		must[directory.Key](t)(d.RevokeKey(ctx, other, "acme", key.ID))
	}
	done(t, d.DeleteModel(ctx, by, "acme", "big", 0))
	for range 2 {
		must[directory.Tenant](t)(d.UpdateTenant(ctx, by, "acme", 0, func(x *directory.Tenant) error { x.Name = "Acme"; return nil }))
	}
	entries, _, err := d.Audit(ctx, "acme", directory.AuditQuery{})
	done(t, err)
	var got []string
	for i := range entries {
		e := entries[len(entries)-1-i]
		got = append(got, strings.Replace(e.Action+" "+e.Object+" "+e.By.User, key.ID, "KEY", 1))
	}
	if diff := cmp.Diff([]string{
		"tenant.create tenant/acme ", "agent.create agent/helper ", "agent.update agent/helper bob", "model.create model/big ",
		"model.update model/big ", "key.create key/KEY ", "key.revoke key/KEY bob", "model.delete model/big ",
		"tenant.update tenant/acme ",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func erasure(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	for _, id := range []string{"acme", "zeta"} {
		tenant(t, d, id)
		must[directory.Agent](t)(d.CreateAgent(ctx, of(id), directory.Agent{Tenant: id, ID: "helper"}, "x"))
		must[directory.Model](t)(d.CreateModel(ctx, of(id), model(id, "big", "opus"), ""))
	}
	_, token, err := d.CreateKey(ctx, of("acme"), reading("acme"), "")
	done(t, err)
	_, err = d.EraseTenant(ctx, Operator(), "acme")
	want(t, "an active tenant", err, event.ErrConflict, "TENANT_ACTIVE")
	idle(t, d, "acme")
	head := must[directory.Verified](t)(d.VerifyAudit(ctx, "acme")).Head
	got := must[directory.Erased](t)(d.EraseTenant(ctx, Operator(), "acme"))
	if got.AuditKept != 0 && got.AuditKept != got.AuditEntries {
		t.Errorf("%d of the %d entries are kept", got.AuditKept, got.AuditEntries)
	}
	got.AuditKept = 0 // it depends on the database
	if diff := cmp.Diff(directory.Erased{Agents: 1, Models: 1, Keys: 1, AuditEntries: 5, AuditHead: head}, got); diff != "" {
		t.Error(diff)
	}
	_, err = d.EraseTenant(ctx, Operator(), "acme")
	want(t, "erased twice", err, event.ErrNotFound, "TENANT_NOT_FOUND")
	_, err = d.Authenticate(ctx, token.Reveal())
	want(t, "a key of it", err, event.ErrUnauthenticated, "")
	_, err = d.Agent(ctx, "acme", "helper", 0)
	want(t, "an agent of it", err, event.ErrNotFound, "AGENT_NOT_FOUND")
	_, err = d.Model(ctx, "acme", "opus")
	want(t, "a model of it", err, event.ErrModelNotFound, "MODEL_NOT_FOUND")
	entries, _, err := d.Audit(ctx, "", directory.AuditQuery{Action: "tenant.erase"})
	if err != nil || len(entries) != 1 || entries[0].Object != "tenant/acme" {
		t.Errorf("the operator's audit says %+v: %v", entries, err)
	}
	if v := must[directory.Verified](t)(d.VerifyAudit(ctx, "acme")); v.Entries != 0 || v.Broken != 0 {
		t.Errorf("its audit is %+v", v)
	}
	if v := must[directory.Verified](t)(d.VerifyAudit(ctx, "")); !v.OK() {
		t.Errorf("after an erasure the operator's audit is %+v", v)
	}
	// Others are as they were, and the name is free: of nobody's past.
	must[directory.Agent](t)(d.Agent(ctx, "zeta", "helper", 0))
	tenant(t, d, "acme")
	if list, _, err := d.ListAgents(ctx, "acme", directory.Query{}); err != nil || len(list) != 0 {
		t.Errorf("the new tenant has %+v: %v", list, err)
	}
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), model("acme", "big", "opus"), "x"))
}

func expiries(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "for-ever")
	must[directory.Tenant](t)(d.CreateTenant(ctx, Operator(), directory.Tenant{
		ID: "acme", Status: directory.Inactive, Retention: directory.Retention{Conversations: 30},
	}, ""))
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	got := must[[]directory.Expiry](t)(d.Expiries(ctx, now))
	want := []directory.Expiry{{
		Tenant: "acme", Conversations: time.Date(2026, 10, 22, 12, 0, 0, 0, time.UTC),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// sameBy reports whether an entry names the one who did it. Scopes are in no audit.
func sameBy(a, b directory.By) bool {
	return a.Tenant == b.Tenant && a.Key == b.Key && a.User == b.User && a.Operator == b.Operator && a.Scopes == nil
}
