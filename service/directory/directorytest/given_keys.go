package directorytest

import (
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// givenKeys tests that a key makes none that may do more than it may.
func givenKeys(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	const read, write, adminRead, adminWrite = directory.ScopeRead, directory.ScopeWrite, directory.ScopeAdminRead, directory.ScopeAdminWrite
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	service := directory.By{Tenant: "acme", Key: "service", Scopes: []directory.Scope{adminWrite, read}}
	ann := directory.By{Tenant: "acme", Key: "ann's", User: "ann", Scopes: []directory.Scope{adminWrite, read}}
	short := directory.By{Tenant: "acme", Key: "short", Scopes: []directory.Scope{adminWrite, read}, Expires: end}
	operator := directory.By{Key: "operators", Operator: true, Scopes: []directory.Scope{directory.ScopeOperator}}
	for name, c := range map[string]struct {
		by   directory.By
		key  directory.Key
		code string // "" is that the key is made
	}{
		"a scope it has":             {service, directory.Key{Scopes: []directory.Scope{read}}, ""},
		"all scopes it has":          {service, directory.Key{Scopes: []directory.Scope{read, adminWrite}}, ""},
		"write":                      {service, directory.Key{Scopes: []directory.Scope{write}}, "SCOPE_MISSING"},
		"admin:read":                 {service, directory.Key{Scopes: []directory.Scope{adminRead}}, "SCOPE_MISSING"},
		"one of two":                 {service, directory.Key{Scopes: []directory.Scope{read, write}}, "SCOPE_MISSING"},
		"operator":                   {service, directory.Key{Scopes: []directory.Scope{directory.ScopeOperator}}, "SCOPE_MISSING"},
		"a user, by a service key":   {service, directory.Key{Scopes: []directory.Scope{read}, User: "bob"}, ""},
		"its own user":               {ann, directory.Key{Scopes: []directory.Scope{read}, User: "ann"}, ""},
		"another user":               {ann, directory.Key{Scopes: []directory.Scope{read}, User: "bob"}, "KEY_BOUND_TO_USER"},
		"no user, by ann's":          {ann, directory.Key{Scopes: []directory.Scope{read}}, "KEY_BOUND_TO_USER"},
		"a user in other letters":    {ann, directory.Key{Scopes: []directory.Scope{read}, User: "Ann"}, "KEY_BOUND_TO_USER"},
		"the same end":               {short, directory.Key{Scopes: []directory.Scope{read}, Expires: end}, ""},
		"a later end":                {short, directory.Key{Scopes: []directory.Scope{read}, Expires: end.Add(time.Second)}, "KEY_OUTLIVED"},
		"no end":                     {short, directory.Key{Scopes: []directory.Scope{read}}, "KEY_OUTLIVED"},
		"operator's: administration": {operator, directory.Key{Scopes: []directory.Scope{adminRead, adminWrite}}, ""},
		"operator's: conversations":  {operator, directory.Key{Scopes: []directory.Scope{read}}, "SCOPE_MISSING"},
	} {
		c.key.Tenant = "acme"
		k, token, err := d.CreateKey(ctx, c.by, c.key, "")
		if c.code == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want(t, name, err, event.ErrPermission, c.code)
		if k.ID != "" || !token.Empty() {
			t.Errorf("%s: a key came with the refusal: %+v", name, k)
		}
	}
	// What decides how far keys of users reach is not theirs to change.
	for name, change := range map[string]func(t *directory.Tenant){
		"isolation": func(t *directory.Tenant) { t.Isolation = directory.IsolationTenant },
		"approvals": func(t *directory.Tenant) { t.Approvals = directory.ApprovalsAny },
	} {
		with := func(t *directory.Tenant) error { change(t); return nil }
		_, err := d.UpdateTenant(ctx, ann, "acme", 0, with)
		want(t, name+" by a user's key", err, event.ErrPermission, "KEY_BOUND_TO_USER")
		if _, err := d.UpdateTenant(ctx, service, "acme", 0, with); err != nil {
			t.Errorf("%s by a service key: %v", name, err)
		}
	}
	for name, change := range map[string]func(t *directory.Tenant){
		"isolation":   func(t *directory.Tenant) { t.Isolation = "none" },
		"approvals":   func(t *directory.Tenant) { t.Approvals = "everybody" },
		"failed_runs": func(t *directory.Tenant) { t.FailedRuns = "drop" },
	} {
		_, err := d.UpdateTenant(ctx, service, "acme", 0, func(t *directory.Tenant) error { change(t); return nil })
		want(t, name, err, event.ErrInvalid, "")
	}
}
