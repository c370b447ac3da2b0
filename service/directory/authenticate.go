package directory

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"github.com/braidrun/braid/service/database"
)

// Authenticate returns the identity of a key. It does not query the database if the key was seen
// recently or cannot be one. For every invalid key it returns the same [event.ErrUnauthenticated].
// If the tenant is inactive it returns [event.ErrPermission] with the code TENANT_INACTIVE.
//
// If the key was valid once, the identity beside an error says whose it was. It has no scopes and
// is for the audit only.
func (d *Directory) Authenticate(ctx context.Context, token string) (Identity, error) {
	const op = "authenticate"
	id, ok := tokenID(token)
	if !ok {
		return Identity{}, noKey(op)
	}
	i, err := d.bearer(ctx, op, id, sha256.Sum256([]byte(token)))
	if err == nil {
		d.used(i.Tenant, i.Key)
	}
	return i, err
}

func (d *Directory) bearer(ctx context.Context, op, id string, hash [sha256.Size]byte) (Identity, error) {
	b, err := lookup(ctx, &d.changes, &d.bearers, hash, func(ctx context.Context) (bearer, error) { return d.readBearer(ctx, op, id, hash) })
	switch {
	case err != nil:
		return Identity{}, err
	case b.revoked, !b.expires.IsZero() && !time.Now().Before(b.expires):
		return b.was(), noKey(op)
	case b.inactive:
		return b.was(), tenantInactive(op)
	}
	return b.identity, nil
}

func (d *Directory) readBearer(ctx context.Context, op, id string, hash [sha256.Size]byte) (b bearer, err error) {
	var changes int64
	err = d.db.ReadKey(ctx, op, id, func(tx *database.Tx) error {
		if changes, err = tx.Changes(); err != nil {
			return err
		}
		var kept []byte
		var k Key
		k, err := one(tx, op, "key", `SELECT `+keyColumns+`, hash FROM api_key WHERE id = ?`, []any{id}, func(scan func(...any) error) (Key, error) {
			return scanKey(func(into ...any) error { return scan(append(into, &kept)...) })
		})
		if isNotFound(err) || err == nil && subtle.ConstantTimeCompare(kept, hash[:]) != 1 {
			return noKey(op)
		}
		if err != nil {
			return err
		}
		b = bearer{
			identity: Identity{Tenant: k.Tenant, Key: k.ID, User: k.User, Scopes: k.Scopes, Expires: k.Expires, hash: hash},
			expires:  k.Expires, revoked: !k.Revoked.IsZero(),
		}
		if k.Tenant == "" {
			return nil
		}
		var status Status
		there, err := tx.Get(`SELECT status FROM tenant WHERE id = ?`, []any{k.Tenant}, &status)
		b.inactive = !there || status != Active
		return err
	})
	if err == nil && changes > 0 {
		// The caches must be at least as new as the key: data of an erased tenant must not be used
		// for a new one with its id.
		d.changes.moved(changes)
	}
	return b, err
}
