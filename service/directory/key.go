package directory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

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

// A key's text is KeyPrefix, its id, "_", and 160 random bits.
const (
	// KeyPrefix is the beginning of every key.
	KeyPrefix = "brk_"

	keyIDLength     = 16
	keySecretLength = 32
)

var keyLetters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newToken() (id, token string) {
	var raw [30]byte
	_, _ = rand.Read(raw[:]) // never fails
	text := keyLetters.EncodeToString(raw[:])
	id = text[:keyIDLength]
	return id, KeyPrefix + id + "_" + text[keyIDLength:]
}

// tokenID returns the id in a key's text. It returns false if the text cannot be a key.
func tokenID(token string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(token, KeyPrefix)
	if !ok || len(rest) != keyIDLength+1+keySecretLength || rest[keyIDLength] != '_' {
		return "", false
	}
	for i := range len(rest) {
		c := rest[i]
		if i != keyIDLength && (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", false
		}
	}
	return rest[:keyIDLength], true
}

const keyColumns = `tenant, id, person, expires, revoked, used, revision, created, updated, doc`

func scanKey(scan func(...any) error) (Key, error) {
	var k Key
	err := scanDoc(scan, &k, &k.Tenant, &k.ID, &k.User, &k.Expires, &k.Revoked, &k.LastUsed, &k.Revision, &k.Created, &k.Updated)
	return k, err
}

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
		done, err := d.repeated(tx, op, k.Tenant, idem, "key/"+k.ID, asked)
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

func getKey(tx *database.Tx, op, tenant, id, lock string) (Key, error) {
	return one(tx, op, "key", `SELECT `+keyColumns+` FROM api_key WHERE tenant = ? AND id = ?`+lock, []any{tenant, id}, scanKey)
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
	return page(ctx, d, tenant, false, q, l)
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
	b, err := lookup(ctx, d, &d.bearers, hash, func(ctx context.Context) (bearer, error) { return d.readBearer(ctx, op, id, hash) })
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
