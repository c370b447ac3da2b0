package directorytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

func repeats(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	for range 2 {
		x := must[directory.Tenant](t)(d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "acme", Name: "Acme"}, "once"))
		if x.Name != "Acme" || x.Revision != 1 {
			t.Errorf("made as %+v", x)
		}
	}
	_, err := d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "acme", Name: "Other"}, "once")
	want(t, "another body", err, event.ErrConflict, "IDEMPOTENCY_MISMATCH")
	_, err = d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "acme", Name: "Acme"}, "twice")
	want(t, "another key", err, event.ErrConflict, "TENANT_EXISTS")
	_, err = d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "x"}, strings.Repeat("x", 256))
	want(t, "a key that is too long", err, event.ErrInvalid, "")

	k := reading("acme")
	made, token, err := d.CreateKey(ctx, of("acme"), k, "once")
	done(t, err)
	again, none, err := d.CreateKey(ctx, of("acme"), k, "once")
	done(t, err)
	if diff := cmp.Diff(made, again); diff != "" || token.Empty() || !none.Empty() {
		t.Errorf("the repeat gives a token: %v\n%s", !none.Empty(), diff)
	}
	m := model("acme", "big")
	m.Credential.Secret = secret.New("a-key-of-some-length")
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), m, "model"))
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), m, "model"))
	m.Credential.Secret = secret.New("b-key-of-some-length")
	_, err = d.CreateModel(ctx, of("acme"), m, "model")
	want(t, "another secret", err, event.ErrConflict, "IDEMPOTENCY_MISMATCH")
	a := directory.Agent{Tenant: "acme", ID: "helper"}
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), a, "agent"))
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), a, "agent"))
	// Nothing was done twice, and the audit says so.
	v := must[directory.Verified](t)(d.VerifyAudit(ctx, "acme"))
	if v.Entries != 4 || v.Broken != 0 {
		t.Errorf("the audit is %+v, want 4 entries", v)
	}
	// Many at once make one.
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			k, _, err := d.CreateKey(ctx, of("acme"), k, "at once")
			if err != nil {
				t.Errorf("%v, caused by %v", err, errors.Unwrap(err))
			}
			ids[i] = k.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
		t.Errorf("many keys were made: %v", ids)
	}
}

func revisions(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper"}, ""))
	must[directory.Model](t)(d.CreateModel(ctx, of("acme"), model("acme", "big"), ""))
	for _, revision := range []int64{2, 99, -1} {
		for name, err := range map[string]error{
			"tenant": second(d.UpdateTenant(ctx, Operator(), "acme", revision, func(x *directory.Tenant) error { x.Name = "x"; return nil })),
			"agent":  second(d.UpdateAgent(ctx, of("acme"), "acme", "helper", revision, func(x *directory.Agent) error { x.Name = "x"; return nil })),
			"model":  second(d.UpdateModel(ctx, of("acme"), "acme", "big", revision, func(x *directory.Model) error { x.Region = "x"; return nil })),
			"delete": d.DeleteModel(ctx, of("acme"), "acme", "big", revision),
		} {
			want(t, fmt.Sprint(name, revision), err, event.ErrConflict, "REVISION_CONFLICT")
		}
	}
}

// Of writers who have read the same, one wins, and nobody's change is lost unseen.
func race(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper"}, ""))
	const writers, each = 6, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; n < each; {
				a, err := d.GetAgent(ctx, "acme", "helper", 0)
				if err != nil {
					t.Errorf("%v, caused by %v", err, errors.Unwrap(err))
					return
				}
				_, err = d.UpdateAgent(ctx, of("acme"), "acme", "helper", a.Revision, func(x *directory.Agent) error {
					x.Instructions = a.Instructions + string(rune('a'+w))
					return nil
				})
				switch {
				case err == nil:
					n++
				case event.KindOf(err) != event.ErrConflict:
					t.Errorf("%v, caused by %v", err, errors.Unwrap(err))
					return
				}
			}
		})
	}
	wg.Wait()
	a := must[directory.Agent](t)(d.GetAgent(ctx, "acme", "helper", 0))
	if len(a.Instructions) != writers*each || a.Version != 1+writers*each || a.Revision != int64(1+writers*each) {
		t.Errorf("after %d changes it is %+v", writers*each, a)
	}
	v := must[directory.Verified](t)(d.VerifyAudit(ctx, "acme"))
	if v.Broken != 0 || v.Entries != 2+writers*each {
		t.Errorf("the audit is %+v", v)
	}
}
