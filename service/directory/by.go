package directory

import (
	"slices"
	"time"

	"github.com/braidrun/braid/event"
)

// Scope is something that a credential lets its bearer do.
type Scope string

// The scopes.
const (
	// ScopeRead reads conversations, runs and streams; ScopeWrite begins runs, answers,
	// and changes conversations.
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	// ScopeAdminRead reads, and ScopeAdminWrite changes, the tenant's own agents, models
	// and keys; ScopeAdminRead reads its usage, logs and audit too.
	ScopeAdminRead  Scope = "admin:read"
	ScopeAdminWrite Scope = "admin:write"
	// ScopeOperator does what the two do for every tenant, and makes tenants and the models
	// that all share.
	ScopeOperator Scope = "operator"
)

// Scopes gives all of them.
func Scopes() []Scope {
	return []Scope{ScopeRead, ScopeWrite, ScopeAdminRead, ScopeAdminWrite, ScopeOperator}
}

// By is who does something, as the audit tells it. The zero value may do nothing.
type By struct {
	// Tenant is whose he is, Key the id of the credential, User the person; each may be empty.
	Tenant string `json:"tenant,omitempty"`
	Key    string `json:"key,omitempty"`
	User   string `json:"user,omitempty"`
	// Operator may change what is any tenant's.
	Operator bool `json:"operator,omitempty"`

	// Scopes are the credential's, and Expires is its end; the zero time is never. They bound the
	// keys that it may make, and no audit keeps them.
	Scopes  []Scope   `json:"-"`
	Expires time.Time `json:"-"`
}

// mayGive refuses a key that exceeds the authority of the key that makes it: more scopes, a later
// end, or another user than its own. Whoever shows no key, but is the operator, may make any.
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

// boundToUser refuses what a key that names a user may not do for others.
func boundToUser(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot do this for others",
		Hint: "use a key without a user, or name the key's own user",
	}
}

// may refuses who changes another tenant's things, as if there were no such tenant.
func (b By) may(op, tenant string) error {
	if b.Operator || b.Tenant != "" && b.Tenant == tenant {
		return nil
	}
	return notFound(op, "tenant")
}

// mayTenant is may for what is a tenant's, or, under "", the operator's.
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

// Identity is whom a credential stands for.
type Identity struct {
	// Tenant is the isolation boundary; a key of the operator's own has "".
	Tenant string
	// Key is the credential's id.
	Key string
	// User is the person whom the key was made for; it may be empty.
	User   string
	Scopes []Scope
	// Expires is when the credential ends by itself; the zero time is never.
	Expires time.Time

	hash [32]byte
}

// Has reports whether the identity has a scope. The operator's contains those of administration.
func (i Identity) Has(s Scope) bool {
	return slices.Contains(i.Scopes, s) ||
		(s == ScopeAdminRead || s == ScopeAdminWrite) && slices.Contains(i.Scopes, ScopeOperator)
}

// By is the identity as the one who does something.
func (i Identity) By() By {
	return By{
		Tenant: i.Tenant, Key: i.Key, User: i.User, Operator: slices.Contains(i.Scopes, ScopeOperator), Scopes: i.Scopes, Expires: i.Expires,
	}
}
