package directory

import (
	"slices"
	"time"
)

// Identity is the identity of a credential.
type Identity struct {
	// Tenant is the isolation boundary. It is "" for the operator's own keys.
	Tenant string
	// Key is the credential's id.
	Key string
	// User is the user of the key. It may be empty.
	User   string
	Scopes []Scope
	// Expires is when the credential expires. The zero time means never.
	Expires time.Time

	hash [32]byte
}

// Has reports whether the identity has a scope. The operator's scope contains those of
// administration.
func (i Identity) Has(s Scope) bool {
	return slices.Contains(i.Scopes, s) ||
		(s == ScopeAdminRead || s == ScopeAdminWrite) && slices.Contains(i.Scopes, ScopeOperator)
}

// By returns the identity as the author of a change.
func (i Identity) By() By {
	return By{
		Tenant: i.Tenant, Key: i.Key, User: i.User, Operator: slices.Contains(i.Scopes, ScopeOperator), Scopes: i.Scopes, Expires: i.Expires,
	}
}
