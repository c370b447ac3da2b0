package directory

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Scope is a permission of a credential.
type Scope string

// These are the scopes.
const (
	// ScopeRead allows reading conversations, runs and streams.
	ScopeRead Scope = "read"
	// ScopeWrite allows starting runs, answering questions and changing conversations.
	ScopeWrite Scope = "write"
	// ScopeAdminRead allows reading the tenant's own agents, models, keys, usage, logs and audit.
	ScopeAdminRead Scope = "admin:read"
	// ScopeAdminWrite allows changing the tenant's own agents, models and keys.
	ScopeAdminWrite Scope = "admin:write"
	// ScopeOperator allows what the two admin scopes allow, for every tenant. It also allows
	// creating tenants and shared models.
	ScopeOperator Scope = "operator"
)

// Scopes returns all scopes.
func Scopes() []Scope {
	return []Scope{ScopeRead, ScopeWrite, ScopeAdminRead, ScopeAdminWrite, ScopeOperator}
}

// badScope returns an error for an unknown scope.
func badScope(scopes []Scope) *event.Error {
	for _, s := range scopes {
		if !slices.Contains(Scopes(), s) {
			return &event.Error{
				Kind: event.ErrInvalid, Message: "there is no scope of this name",
				Hint: "use read, write, admin:read, admin:write or operator",
			}
		}
	}
	return nil
}
