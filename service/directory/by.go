package directory

import (
	"slices"

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
}

// may refuses who changes another tenant's things, as if there were no such tenant.
func (b By) may(op, tenant string) error {
	if b.Operator || b.Tenant != "" && b.Tenant == tenant {
		return nil
	}
	return notFound(op, "tenant")
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

	hash [32]byte
}

// Has reports whether the identity has a scope. The operator's contains those of administration.
func (i Identity) Has(s Scope) bool {
	return slices.Contains(i.Scopes, s) ||
		(s == ScopeAdminRead || s == ScopeAdminWrite) && slices.Contains(i.Scopes, ScopeOperator)
}

// By is the identity as the one who does something.
func (i Identity) By() By {
	return By{Tenant: i.Tenant, Key: i.Key, User: i.User, Operator: slices.Contains(i.Scopes, ScopeOperator)}
}
