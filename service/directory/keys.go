package directory

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// CreateKey creates a key of a tenant; without a tenant it is the operator's own. token is the only
// copy of its text. The caller cannot choose the key's id, revision and times.
//
// Only the operator may give the scope operator. A key cannot create a key with a scope that it
// does not have, for another user, or with a later expiry ([event.ErrPermission]). A repeated call
// with the same idem returns the key without a token: revoke the key if the token is lost.
func (d *Directory) CreateKey(ctx context.Context, by By, k Key, idem string) (made Key, token secret.Secret, err error) {
	const op = "create key"
	err = by.may(op, k.Tenant)
	if k.Tenant == "" || slices.Contains(k.Scopes, ScopeOperator) {
		err = by.mustOperate(op)
	}
	if err != nil {
		return Key{}, secret.Secret{}, err
	}
	k.ID, k.Revoked, k.LastUsed, k.Revision, k.Created, k.Updated = "", time.Time{}, time.Time{}, 1, time.Time{}, time.Time{}
	asked := k
	id, text := newToken()
	k.ID, k.Created, k.Expires = id, database.Now(), k.Expires.UTC().Truncate(time.Microsecond)
	k.Updated = k.Created
	if err := k.check(op); err != nil {
		return Key{}, secret.Secret{}, err
	}
	if err := by.mayGive(op, &k); err != nil {
		return Key{}, secret.Secret{}, err
	}
	hash := sha256.Sum256([]byte(text))
	err = d.write(ctx, op, k.Tenant, func(tx *database.Tx) error {
		if k.Tenant != "" {
			if err := needTenant(tx, op, k.Tenant); err != nil {
				return err
			}
		}
		made, token = k, secret.New(text)
		done, err := repeated(tx, op, k.Tenant, idem, "key/"+k.ID, asked)
		if err != nil {
			return err
		}
		if done != "" {
			made, err = getKey(tx, op, k.Tenant, strings.TrimPrefix(done, "key/"), "")
			token = secret.Secret{}
			return err
		}
		doc, err := encode(k)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO api_key (`+keyColumns+`, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			k.Tenant, k.ID, k.User, database.Micros(k.Expires), database.Micros(k.Revoked), 0, k.Revision,
			database.Micros(k.Created), database.Micros(k.Updated), doc, hash[:]); err != nil {
			return err
		}
		return record(tx, k.Tenant, by, "key.create", "key/"+k.ID, nil)
	})
	if err != nil {
		return Key{}, secret.Secret{}, err
	}
	return made, token, nil
}

// GetKey returns a key, even an expired or revoked one.
func (d *Directory) GetKey(ctx context.Context, tenant, id string) (k Key, err error) {
	const op = "key"
	if tenant != "" && !isSlug(tenant) || len(id) != keyIDLength {
		return Key{}, notFound(op, "key")
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		k, err = getKey(tx, op, tenant, id, "")
		return err
	})
	return k, err
}

// ListKeys lists a tenant's keys, or the operator's own for "". It includes expired and revoked
// keys unless q.Status is [Active].
func (d *Directory) ListKeys(ctx context.Context, tenant string, q Query) (list []Key, next string, err error) {
	l := listing[Key]{
		op: "list keys", from: `SELECT ` + keyColumns + ` FROM api_key WHERE tenant = ?`, args: []any{tenant}, scan: scanKey,
		place: func(k Key) (string, time.Time) { return k.ID, k.Created },
	}
	now := time.Now().UnixMicro()
	l.status = map[Status]condition{
		Active:   {` AND revoked = 0 AND (expires = 0 OR expires > ?)`, []any{now}},
		Inactive: {` AND NOT (revoked = 0 AND (expires = 0 OR expires > ?))`, []any{now}},
	}
	return page(ctx, d.db, tenant, false, q, l)
}

// RevokeKey revokes a key: in this process at once, and within [Stale] in every process with the
// same database. It ends the watches of the key ([Directory.Watch]). Repeating it changes nothing.
func (d *Directory) RevokeKey(ctx context.Context, by By, tenant, id string) (k Key, err error) {
	const op = "revoke key"
	err = by.may(op, tenant)
	if tenant == "" {
		err = by.mustOperate(op)
	}
	if err != nil {
		return Key{}, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if k, err = getKey(tx, op, tenant, id, tx.ForUpdate()); err != nil || !k.Revoked.IsZero() {
			return err
		}
		if slices.Contains(k.Scopes, ScopeOperator) {
			if err := by.mustOperate(op); err != nil {
				return err
			}
		}
		k.Revoked = database.Now()
		k.Updated = k.Revoked
		k.Revision++
		doc, err := encode(k)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE api_key SET revoked = ?, revision = ?, updated = ?, doc = ? WHERE tenant = ? AND id = ?`,
			database.Micros(k.Revoked), k.Revision, database.Micros(k.Updated), doc, tenant, id); err != nil {
			return err
		}
		return record(tx, tenant, by, "key.revoke", "key/"+id, nil)
	})
	if err != nil {
		return Key{}, err
	}
	return k, nil
}
