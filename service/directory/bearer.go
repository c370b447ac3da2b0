package directory

import "time"

// bearer is the cached state of a credential.
type bearer struct {
	identity Identity
	expires  time.Time
	revoked  bool
	inactive bool
}

// was returns the identity of the credential without its scopes.
func (b *bearer) was() Identity {
	return Identity{Tenant: b.identity.Tenant, Key: b.identity.Key, User: b.identity.User}
}
