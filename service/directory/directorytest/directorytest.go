// Package directorytest is what a directory promises, in running form, whatever its
// database is.
package directorytest

import (
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Harness is a directory on a database of its own.
type Harness struct {
	// Directory can keep secrets.
	Directory *directory.Directory
	// Another gives one more directory on the same database, as another process has it; nil where
	// there can be none.
	Another func() *directory.Directory
}

// Operator is who may do everything in these tests.
func Operator() directory.By {
	return directory.By{Key: "operator", Operator: true, Scopes: directory.Scopes()}
}

func of(tenant string) directory.By {
	return directory.By{
		Tenant: tenant, Key: "key of " + tenant,
		Scopes: []directory.Scope{directory.ScopeRead, directory.ScopeWrite, directory.ScopeAdminRead, directory.ScopeAdminWrite},
	}
}

// Run holds what open gives against the contract.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, h Harness){
		"tenants":                    tenants,
		"agents":                     agents,
		"agents below agents":        nested,
		"below one another":          nestedAtOnce,
		"models":                     models,
		"names of models":            names,
		"references":                 referred,
		"models in use":              inUse,
		"MCP servers":                mcpServers,
		"MCP servers, stored":        mcpStored,
		"MCP servers, credentials":   mcpCredentials,
		"MCP servers, client secret": mcpClientSecret,
		"MCP servers, refused":       mcpRefused,
		"MCP servers of another":     mcpIsolation,
		"skills":                     skills,
		"skills, their places":       skillPlaces,
		"skills, at once":            skillsAtOnce,
		"skills, refused":            skillsRefused,
		"skills, old versions":       skillVersions,
		"skills of another":          skillIsolation,
		"webhooks":                   webhooks,
		"webhooks, refused":          webhooksRefused,
		"in use at once":             inUseAtOnce,
		"credentials":                credentials,
		"keys":                       keys,
		"keys given by keys":         givenKeys,
		"keys that end":              ended,
		"watches":                    watched,
		"who may":                    authority,
		"another tenant's":           isolation,
		"repeats":                    repeats,
		"revisions":                  revisions,
		"writers at once":            race,
		"pages":                      pages,
		"cursors that are none":      cursors,
		"what is not valid":          validation,
		"audit":                      audit,
		"all changes are audited":    audited,
		"erasure":                    erasure,
		"expiries":                   expiries,
		"another process's change":   elsewhere,
		"refused writes":             refusedWrites,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// want wants an error of the kind with the code.
func want(t *testing.T, what string, err error, kind event.ErrorKind, code string) {
	t.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Code != code || e.Message == "" || e.Hint == "" {
		t.Errorf("%s: %v, want %s %s with a hint", what, err, kind, code)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
		}
		return v
	}
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
	}
}

func tenant(t *testing.T, d *directory.Directory, id string) {
	t.Helper()
	must[directory.Tenant](t)(d.CreateTenant(t.Context(), Operator(), directory.Tenant{ID: id}, ""))
}

func idle(t *testing.T, d *directory.Directory, tenant string) {
	t.Helper()
	must[directory.Tenant](t)(d.UpdateTenant(t.Context(), Operator(), tenant, 0, func(x *directory.Tenant) error {
		x.Status = directory.Inactive
		return nil
	}))
}

// reading is a key that may read.
func reading(tenant string) directory.Key {
	return directory.Key{Tenant: tenant, Scopes: []directory.Scope{directory.ScopeRead}}
}
