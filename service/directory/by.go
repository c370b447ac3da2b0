package directory

import (
	"slices"
	"time"

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

// By is the author of a change, as the audit records it. The zero value may do nothing.
type By struct {
	// Tenant is the author's tenant. It may be empty.
	Tenant string `json:"tenant,omitempty"`
	// Key is the id of the credential. It may be empty.
	Key string `json:"key,omitempty"`
	// User is the user of the credential. It may be empty.
	User string `json:"user,omitempty"`
	// Operator may change the objects of every tenant.
	Operator bool `json:"operator,omitempty"`

	// Scopes are the credential's scopes. They bound the keys that it may create. The audit does not store them.
	Scopes []Scope `json:"-"`
	// Expires is when the credential expires. The zero time means never. The audit does not store it.
	Expires time.Time `json:"-"`
}

// mayGive refuses a key that exceeds the key that creates it: more scopes, a later expiry, or
// another user. An operator without a key may create any key.
func (b By) mayGive(op string, k *Key) error {
	if b.Operator && b.Key == "" {
		return nil
	}
	own := Identity{Scopes: b.Scopes}
	for _, s := range k.Scopes {
		if !own.Has(s) {
			return &event.Error{
				Op: op, Kind: event.ErrPermission, Code: "SCOPE_MISSING", Message: "a key cannot give a scope that it does not have",
				Hint: "leave the scope " + string(s) + " out, or use a key that has it",
			}
		}
	}
	if !b.Operator && b.User != "" && k.User != b.User {
		return boundToUser(op)
	}
	if !b.Expires.IsZero() && (k.Expires.IsZero() || k.Expires.After(b.Expires)) {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Code: "KEY_OUTLIVED", Message: "a key cannot make one that outlives it",
			Hint: "let it expire at " + b.Expires.UTC().Format(time.RFC3339) + " or before",
		}
	}
	return nil
}

// boundToUser refuses what a key with a user may not do for others.
func boundToUser(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot do this for others",
		Hint: "use a key without a user, or name the key's own user",
	}
}

// may refuses changes to another tenant's objects, as if there were no such tenant.
func (b By) may(op, tenant string) error {
	if b.Operator || b.Tenant != "" && b.Tenant == tenant {
		return nil
	}
	return notFound(op, "tenant")
}

// mayTenant is may for an object of a tenant, or of the operator if tenant is "".
func (b By) mayTenant(op, tenant string) error {
	if tenant == "" {
		return b.mustOperate(op)
	}
	return b.may(op, tenant)
}

// mustOperate refuses everybody but the operator.
func (b By) mustOperate(op string) error {
	if b.Operator {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "SCOPE_MISSING", Message: "only the operator may do this",
		Hint: "use a credential with the scope operator",
	}
}

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
