package directorytest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func keys(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	scopes := []directory.Scope{directory.ScopeRead, directory.ScopeAdminRead}
	k, token, err := d.CreateKey(ctx, of("acme"), directory.Key{Tenant: "acme", Name: "ci", User: "ann", Scopes: scopes}, "")
	done(t, err)
	text := token.Reveal()
	if !strings.HasPrefix(text, directory.KeyPrefix+k.ID+"_") || len(text) < 50 {
		t.Errorf("the key %s is written %d letters long", k.ID, len(text))
	}
	i := must[directory.Identity](t)(d.Authenticate(ctx, text))
	if i.Tenant != "acme" || i.Key != k.ID || i.User != "ann" || !slices.Equal(i.Scopes, scopes) {
		t.Errorf("it stands for %+v", i)
	}
	if diff := cmp.Diff(directory.By{Tenant: "acme", Key: k.ID, User: "ann", Scopes: scopes}, i.By()); diff != "" {
		t.Errorf("it acts as another one:\n%s", diff)
	}
	got := must[directory.Key](t)(d.GetKey(ctx, "acme", k.ID))
	if diff := cmp.Diff(k, got); diff != "" {
		t.Error(diff)
	}
	other := "a"
	if strings.HasSuffix(text, "a") {
		other = "b"
	}
	for name, wrong := range map[string]string{
		"nothing": "", "garbage": "x", "another end": text[:len(text)-1] + other, "one letter more": text + "a", "no end": text[:len(text)-1],
		"the id alone": directory.KeyPrefix + k.ID + "_", "in capitals": strings.ToUpper(text),
		"unknown":  directory.KeyPrefix + strings.Repeat("a", 16) + "_" + strings.Repeat("a", 32),
		"not text": directory.KeyPrefix + strings.Repeat("\xff", 16) + "_" + strings.Repeat("\x00", 32),
	} {
		for range 2 {
			_, err := d.Authenticate(ctx, wrong)
			want(t, name, err, event.ErrUnauthenticated, "")
		}
	}
	// The operator's own key is no tenant's.
	_, token, err = d.CreateKey(ctx, Operator(), directory.Key{Scopes: []directory.Scope{directory.ScopeOperator}}, "")
	done(t, err)
	i = must[directory.Identity](t)(d.Authenticate(ctx, token.Reveal()))
	if i.Tenant != "" || !i.By().Operator || !i.Has(directory.ScopeAdminWrite) || i.Has(directory.ScopeWrite) {
		t.Errorf("the operator's key stands for %+v", i)
	}
}

func ended(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	read := []directory.Scope{directory.ScopeRead}
	k, token, err := d.CreateKey(ctx, of("acme"), directory.Key{Tenant: "acme", Scopes: read}, "")
	done(t, err)
	short, soon, err := d.CreateKey(ctx, of("acme"), directory.Key{Tenant: "acme", Scopes: read, Expires: time.Now().Add(200 * time.Millisecond)}, "")
	done(t, err)
	last, kept, err := d.CreateKey(ctx, of("acme"), directory.Key{Tenant: "acme", Scopes: read}, "")
	done(t, err)
	must[directory.Identity](t)(d.Authenticate(ctx, token.Reveal()))
	revoked := must[directory.Key](t)(d.RevokeKey(ctx, of("acme"), "acme", k.ID))
	if revoked.Revoked.IsZero() || revoked.Revision != 2 {
		t.Errorf("revoked as %+v", revoked)
	}
	_, err = d.Authenticate(ctx, token.Reveal())
	want(t, "a revoked key", err, event.ErrUnauthenticated, "")
	again := must[directory.Key](t)(d.RevokeKey(ctx, of("acme"), "acme", k.ID))
	if diff := cmp.Diff(revoked, again); diff != "" {
		t.Errorf("revoked again:\n%s", diff)
	}
	<-time.After(time.Until(short.Expires))
	_, err = d.Authenticate(ctx, soon.Reveal())
	want(t, "an expired key", err, event.ErrUnauthenticated, "")
	for status, ids := range map[directory.Status][]string{
		directory.Active: {last.ID}, directory.Inactive: {k.ID, short.ID}, "": {k.ID, short.ID, last.ID},
	} {
		list, _, err := d.ListKeys(ctx, "acme", directory.Query{Status: status})
		done(t, err)
		var got []string
		for _, k := range list {
			got = append(got, k.ID)
		}
		slices.Sort(ids)
		if slices.Sort(got); !slices.Equal(got, ids) {
			t.Errorf("%q are %v, want %v", status, got, ids)
		}
	}
	idle(t, d, "acme")
	_, err = d.Authenticate(ctx, kept.Reveal())
	want(t, "a key of a tenant that is not active", err, event.ErrPermission, "TENANT_INACTIVE")
	_, err = d.RevokeKey(ctx, of("acme"), "acme", "0123456789abcdef")
	want(t, "revoke nothing", err, event.ErrNotFound, "KEY_NOT_FOUND")
}

// soonEnough is how long a test waits for what may take 2 s.
const soonEnough = 10 * time.Second

func closed(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(soonEnough):
		t.Errorf("%s: nobody was told", what)
	}
}

func watched(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "zeta")
	watch := func(tenant string, expires time.Time) (directory.Identity, chan struct{}, func()) {
		t.Helper()
		k := reading(tenant)
		k.Expires = expires
		_, token, err := d.CreateKey(ctx, of(tenant), k, "")
		done(t, err)
		i := must[directory.Identity](t)(d.Authenticate(ctx, token.Reveal()))
		gone := make(chan struct{})
		return i, gone, d.Watch(i, func() { close(gone) })
	}
	i, revoked, stop := watch("acme", time.Time{})
	defer stop()
	_, asleep, stop := watch("zeta", time.Time{})
	defer stop()
	_, late, stop := watch("acme", time.Now().Add(time.Second))
	defer stop()
	_, stays, stop := watch("acme", time.Time{})
	defer stop()
	must[directory.Key](t)(d.RevokeKey(ctx, of("acme"), "acme", i.Key))
	closed(t, "a revoked key", revoked)
	idle(t, d, "zeta")
	closed(t, "a tenant that is not active", asleep)
	closed(t, "an expired key", late)
	select {
	case <-stays:
		t.Error("a key that is good was cut")
	default:
	}
	d.Watch(directory.Identity{Tenant: "acme"}, func() { t.Error("what came from no key has ended") })()
}

// What another process has changed is known here within [directory.Stale].
func elsewhere(t *testing.T, h Harness) {
	if h.Another == nil {
		t.Skip("there is one process at a time")
	}
	here, there, ctx := h.Directory, h.Another(), t.Context()
	tenant(t, there, "acme")
	k, token, err := there.CreateKey(ctx, of("acme"), reading("acme"), "")
	done(t, err)
	text := token.Reveal()
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for begin := time.Now(); !ok(); <-time.After(20 * time.Millisecond) {
			if time.Since(begin) > soonEnough {
				t.Fatalf("%s is not known here", what)
			}
		}
	}
	var i directory.Identity
	eventually("the key", func() bool { i, err = here.Authenticate(ctx, text); return err == nil })
	gone := make(chan struct{})
	stop := here.Watch(i, func() { close(gone) })
	defer stop()
	must[directory.Key](t)(there.RevokeKey(ctx, of("acme"), "acme", k.ID))
	begin := time.Now()
	eventually("that it was revoked", func() bool { _, err := here.Authenticate(ctx, text); return err != nil })
	if took := time.Since(begin); took > 3*directory.Stale {
		t.Errorf("a key was good for %v after it had been revoked", took)
	}
	closed(t, "a key that another process has revoked", gone)
	must[directory.Tenant](t)(here.Tenant(ctx, "acme"))
	idle(t, there, "acme")
	eventually("that the tenant is not active", func() bool { _, err := here.Tenant(ctx, "acme"); return err != nil })
}

// A write that is refused changes nothing, and hides nothing that is changed later: not the changes of the
// process that was refused, and not those of others.
func refusedWrites(t *testing.T, h Harness) {
	here, ctx := h.Directory, t.Context()
	tenant(t, here, "acme")
	var keys []directory.Key
	var tokens []string
	for range 2 {
		k, token, err := here.CreateKey(ctx, of("acme"), reading("acme"), "")
		done(t, err)
		keys, tokens = append(keys, k), append(tokens, token.Reveal())
	}
	for range 20 {
		if _, err := here.CreateTenant(ctx, Operator(), directory.Tenant{ID: "acme"}, ""); !errors.Is(err, event.ErrConflict) {
			t.Fatalf("a tenant of the same id: %v", err)
		}
	}
	for _, token := range tokens {
		_, err := here.Authenticate(ctx, token)
		done(t, err)
	}
	must[directory.Key](t)(here.RevokeKey(ctx, of("acme"), "acme", keys[0].ID))
	if _, err := here.Authenticate(ctx, tokens[0]); !errors.Is(err, event.ErrUnauthenticated) {
		t.Errorf("a key that was revoked here: %v", err)
	}
	if h.Another == nil {
		return
	}
	must[directory.Key](t)(h.Another().RevokeKey(ctx, of("acme"), "acme", keys[1].ID))
	for begin := time.Now(); ; <-time.After(20 * time.Millisecond) {
		if _, err := here.Authenticate(ctx, tokens[1]); errors.Is(err, event.ErrUnauthenticated) {
			return
		}
		if time.Since(begin) > soonEnough {
			t.Fatal("that another process has revoked a key is not known here")
		}
	}
}
