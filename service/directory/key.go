package directory

import "time"

// Key is an API key without its secret.
type Key struct {
	// Tenant is the key's tenant. "" means the operator.
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`
	// Name is a label for users.
	Name string `json:"name,omitempty"`
	// User is the user that the key acts for. It may be empty.
	User   string  `json:"user,omitempty"`
	Scopes []Scope `json:"scopes"`
	// Expires is when it expires. The zero time means never.
	Expires time.Time `json:"expires_at,omitzero"`
	// Revoked is when it was revoked. The zero time means not yet.
	Revoked time.Time `json:"revoked_at,omitzero"`
	// LastUsed is when it was last used, up to a minute late. The zero time means never.
	LastUsed time.Time `json:"last_used_at,omitzero"`
	// Revision counts the changes.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}
