package directory

import (
	"time"

	"github.com/braidrun/braid/event"
)

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
