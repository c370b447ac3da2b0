package directorytest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func tenants(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	big := model("", "big")
	big.Aliases = []string{"sonnet"}
	must[directory.Model](t)(d.CreateModel(ctx, Operator(), big, ""))
	must[directory.Model](t)(d.CreateModel(ctx, Operator(), model("", "small"), ""))
	asked := directory.Tenant{
		ID: "acme", Name: "Acme & Söhne", SystemPrompt: "Be kind.", Model: "sonnet",
		Limits:    directory.Limits{Cycles: 3, Seconds: 60},
		Policy:    directory.Policy{Permissions: directory.Permissions{Deny: []string{"shell_*"}}, Models: []string{"big"}},
		Retention: directory.Retention{Conversations: 30},
	}
	made := must[directory.Tenant](t)(d.CreateTenant(ctx, Operator(), asked, ""))
	if made.Status != directory.Active || made.Life == "" || made.Revision != 1 || made.Created.IsZero() || !made.Updated.Equal(made.Created) {
		t.Errorf("made as %+v", made)
	}
	asked.Life, asked.Status, asked.Revision, asked.Created, asked.Updated = made.Life, made.Status, made.Revision, made.Created, made.Updated
	for name, get := range map[string]func() (directory.Tenant, error){
		"get":  func() (directory.Tenant, error) { return d.GetTenant(ctx, "acme") },
		"look": func() (directory.Tenant, error) { return d.Tenant(ctx, "acme") },
	} {
		if diff := cmp.Diff(asked, must[directory.Tenant](t)(get())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	_, err := d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "acme"}, "")
	want(t, "made twice", err, event.ErrConflict, "TENANT_EXISTS")
	for _, id := range []string{"nobody", "", "Acme", "acme'--"} {
		_, err = d.GetTenant(ctx, id)
		want(t, "get of nobody", err, event.ErrNotFound, "TENANT_NOT_FOUND")
		_, err = d.Tenant(ctx, id)
		want(t, "look at nobody", err, event.ErrNotFound, "TENANT_NOT_FOUND")
	}
	done(t, d.EnsureTenant(ctx, Operator(), directory.Tenant{ID: "acme", Name: "other"}))
	done(t, d.EnsureTenant(ctx, Operator(), directory.Tenant{ID: "default"}))
	if got := must[directory.Tenant](t)(d.GetTenant(ctx, "acme")); got.Name != asked.Name {
		t.Errorf("ensuring has changed it: %+v", got)
	}
	no := errors.New("no")
	if _, err := d.UpdateTenant(ctx, Operator(), "acme", 0, func(x *directory.Tenant) error { x.Name = "x"; return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	changed := must[directory.Tenant](t)(d.UpdateTenant(ctx, Operator(), "acme", 1, func(x *directory.Tenant) error {
		x.Status, x.ID, x.Revision, x.Created = directory.Inactive, "evil", 99, time.Time{}
		x.Policy.Models[0] = "small"
		return nil
	}))
	if changed.ID != "acme" || changed.Revision != 2 || !changed.Created.Equal(made.Created) || changed.Updated.Before(made.Updated) {
		t.Errorf("changed to %+v", changed)
	}
	_, err = d.Tenant(ctx, "acme")
	want(t, "one that is not active", err, event.ErrPermission, "TENANT_INACTIVE")
	if diff := cmp.Diff(changed, must[directory.Tenant](t)(d.GetTenant(ctx, "acme"))); diff != "" {
		t.Error(diff)
	}
	same := must[directory.Tenant](t)(d.UpdateTenant(ctx, Operator(), "acme", 0, func(*directory.Tenant) error { return nil }))
	if same.Revision != 2 {
		t.Errorf("a change of nothing gives revision %d", same.Revision)
	}
}
