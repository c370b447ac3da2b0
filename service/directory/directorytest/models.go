package directorytest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

func model(tenant, id string, aliases ...string) directory.Model {
	return directory.Model{Tenant: tenant, ID: id, Provider: "demo", Name: "scripted", Aliases: aliases}
}

func models(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	asked := model("acme", "big", "sonnet")
	asked.Region = "eu-central-1"
	done(t, errors.Join(asked.Prices.Input.UnmarshalText([]byte("3")), asked.Prices.Output.UnmarshalText([]byte("15.125"))))
	made := must[directory.Model](t)(d.CreateModel(ctx, of("acme"), asked, ""))
	if made.Prices != asked.Prices || made.Prices.Price() == nil || made.Prices.Output.String() != "$15.125" {
		t.Errorf("made as %+v", made)
	}
	for _, name := range []string{"big", "sonnet"} {
		if diff := cmp.Diff(made, must[directory.Model](t)(d.Model(ctx, "acme", name)), cmp.Comparer(same)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, name := range []string{"small", "", "BIG", "big'", "anthropic:x", strings.Repeat("x", 300)} {
		_, err := d.Model(ctx, "acme", name)
		want(t, name, err, event.ErrModelNotFound, "MODEL_NOT_FOUND")
	}
	_, err := d.CreateModel(ctx, of("acme"), model("acme", "big"), "")
	want(t, "made twice", err, event.ErrConflict, "MODEL_EXISTS")
	idle := must[directory.Model](t)(d.UpdateModel(ctx, of("acme"), "acme", "big", 1, func(m *directory.Model) error {
		m.Status, m.Aliases = directory.Inactive, []string{"opus"}
		return nil
	}))
	if idle.Revision != 2 || idle.Name != "scripted" {
		t.Errorf("changed to %+v", idle)
	}
	_, err = d.Model(ctx, "acme", "opus")
	want(t, "one that is not active", err, event.ErrConflict, "MODEL_INACTIVE")
	_, err = d.Model(ctx, "acme", "sonnet")
	want(t, "a name that was taken away", err, event.ErrModelNotFound, "MODEL_NOT_FOUND")
	want(t, "deleted too late", d.DeleteModel(ctx, of("acme"), "acme", "big", 1), event.ErrConflict, "REVISION_CONFLICT")
	done(t, d.DeleteModel(ctx, of("acme"), "acme", "big", 2))
	_, err = d.GetModel(ctx, "acme", "big")
	want(t, "one that was deleted", err, event.ErrNotFound, "MODEL_NOT_FOUND")
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), model("acme", "other", "opus", "big"), ""))
}

// same compares times, and what compares with ==.
func same(a, b directory.Prices) bool { return a == b }

// A tenant's own model goes before a shared one, and a name is one model's.
func names(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "zeta")
	must[directory.Model](t)(d.CreateModel(ctx, Operator(), model("", "shared", "sonnet"), ""))
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), model("acme", "own", "sonnet"), ""))
	for _, c := range []struct{ tenant, name, want string }{
		{"acme", "sonnet", "own"}, {"zeta", "sonnet", "shared"}, {"acme", "shared", "shared"}, {"", "sonnet", "shared"},
	} {
		if m := must[directory.Model](t)(d.Model(ctx, c.tenant, c.name)); m.ID != c.want {
			t.Errorf("%s of %q is %s", c.name, c.tenant, m.ID)
		}
	}
	_, err := d.Model(ctx, "zeta", "own")
	want(t, "another tenant's", err, event.ErrModelNotFound, "MODEL_NOT_FOUND")
	_, err = d.CreateModel(ctx, of("acme"), model("acme", "sonnet"), "")
	want(t, "an id that is an alias", err, event.ErrConflict, "MODEL_NAME_TAKEN")
	_, err = d.CreateModel(ctx, of("acme"), model("acme", "third", "own"), "")
	want(t, "an alias that is an id", err, event.ErrConflict, "MODEL_NAME_TAKEN")
	if _, err := d.GetModel(ctx, "acme", "third"); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("a part of it was kept: %v", err)
	}
	// A shared model is nobody's to change but the operator's.
	_, err = d.UpdateModel(ctx, of("acme"), "", "shared", 0, func(*directory.Model) error { return nil })
	want(t, "a shared one changed by a tenant", err, event.ErrPermission, "SCOPE_MISSING")
	_, err = d.UpdateModel(ctx, of("acme"), "acme", "shared", 0, func(*directory.Model) error { return nil })
	want(t, "a shared one as one's own", err, event.ErrNotFound, "MODEL_NOT_FOUND")
	if list, _, err := d.ListModels(ctx, "acme", directory.Query{}); err != nil || len(list) != 1 || list[0].ID != "own" {
		t.Errorf("acme's models are %+v: %v", list, err)
	}
}

func credentials(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	const planted = "sk-planted-0123456789abcd"
	m := model("acme", "big")
	m.Credential.Secret = secret.New(planted)
	made := must[directory.Model](t)(d.CreateModel(ctx, of("acme"), m, ""))
	listed, _, err := d.ListModels(ctx, "acme", directory.Query{})
	done(t, err)
	for name, m := range map[string]directory.Model{
		"made": made, "get": must[directory.Model](t)(d.GetModel(ctx, "acme", "big")),
		"look": must[directory.Model](t)(d.Model(ctx, "acme", "big")), "list": listed[0],
	} {
		if !m.Credential.Secret.Empty() || m.Credential.Ends != "abcd" {
			t.Errorf("%s gives the credential %+v", name, m.Credential)
		}
	}
	reveal := func(m directory.Model) string {
		t.Helper()
		return must[secret.Secret](t)(d.Credential(ctx, m)).Reveal()
	}
	if got := reveal(made); got != planted {
		t.Errorf("the key is %q", got)
	}
	// What does not speak of the key leaves it alone.
	m = must[directory.Model](t)(d.UpdateModel(ctx, of("acme"), "acme", "big", 0, func(m *directory.Model) error { m.Region = "x"; return nil }))
	if got := reveal(m); got != planted {
		t.Errorf("after another change the key is %q", got)
	}
	set := func(c directory.Credential) (directory.Model, error) {
		return d.UpdateModel(ctx, of("acme"), "acme", "big", 0, func(m *directory.Model) error { m.Credential = c; return nil })
	}
	m = must[directory.Model](t)(set(directory.Credential{Secret: secret.New("other-0123456789-wxyz")}))
	if got := reveal(m); got != "other-0123456789-wxyz" || m.Credential.Ends != "wxyz" {
		t.Errorf("the new key is %q (%+v)", got, m.Credential)
	}
	_, err = set(directory.Credential{Env: "HOME"})
	want(t, "a variable named by a tenant", err, event.ErrPermission, "SCOPE_MISSING")
	m = must[directory.Model](t)(set(directory.Credential{}))
	if got := reveal(m); got != "" || m.Credential.Ends != "" {
		t.Errorf("a key that was taken away is %q (%+v)", got, m.Credential)
	}
	m = must[directory.Model](t)(d.UpdateModel(ctx, Operator(), "acme", "big", 0, func(m *directory.Model) error {
		m.Credential = directory.Credential{Env: "BRAID_TEST_KEY"}
		return nil
	}))
	if got := reveal(m); got != "from the environment" {
		t.Errorf("the variable gives %q", got)
	}
	// What the operator's credential pays for is the operator's to change.
	_, err = d.UpdateModel(ctx, of("acme"), "acme", "big", 0, func(m *directory.Model) error { m.Region = "y"; return nil })
	want(t, "another region for the operator's credential", err, event.ErrPermission, "SCOPE_MISSING")
	want(t, "the operator's model deleted", d.DeleteModel(ctx, of("acme"), "acme", "big", 0), event.ErrPermission, "SCOPE_MISSING")
	_, err = d.Credential(ctx, directory.Model{Credential: directory.Credential{Env: "BRAID_NONE"}})
	want(t, "a variable that is not set", err, event.ErrModelAuth, "")
	entries, _, err := d.Audit(ctx, "acme", directory.AuditQuery{Limit: 100})
	done(t, err)
	for _, e := range entries {
		if text := string(e.Detail) + e.Object; strings.Contains(text, "planted") || strings.Contains(text, "other-") {
			t.Errorf("the audit tells the key: %s", text)
		}
	}
}
