package directory

import (
	"context"
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// Reencrypted is the result of encrypting all secrets with the newest key.
type Reencrypted struct {
	// Done counts the secrets that were encrypted again.
	Done int `json:"done"`
	// Current counts the secrets that already used the newest key.
	Current int `json:"current"`
	// Unreadable are the secrets that no key opens, as "tenant/model" or "tenant/mcp-server/id". They
	// stay unchanged.
	Unreadable []string `json:"unreadable,omitempty"`
}

// secretsAtOnce is how many secrets one transaction handles.
const secretsAtOnce = 100

// dater is a [Sealer] that knows which values its newest key has encrypted.
type dater interface{ Newest(sealed []byte) bool }

// Reencrypt encrypts every stored secret with the newest key and binds each to its place. Only the
// operator may call it. It uses short transactions, so servers can go on working. After an error it
// can be repeated and continues. Each tenant's audit records the number of its secrets.
func (d *Directory) Reencrypt(ctx context.Context, by By) (r Reencrypted, err error) {
	const op = "reencrypt secrets"
	if err := by.mustOperate(op); err != nil {
		return Reencrypted{}, err
	}
	return d.eachSecret(ctx, op, func(tx *database.Tx, s storedSecret) error {
		plain, _, err := s.open(d.keys)
		if err != nil {
			return err
		}
		sealed, err := d.keys.Seal(plain, s.place())
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE `+s.table+` SET secret = ? WHERE tenant = ? AND id = ?`, sealed, s.tenant, s.id)
		return err
	}, func(tx *database.Tx, tenant string, n int) error {
		return record(tx, tenant, by, "secrets.reencrypt", "tenant/"+tenant, map[string]any{"secrets": n})
	})
}

// OldSecrets returns as Done the number of secrets that [Directory.Reencrypt] would encrypt again.
// It changes nothing.
func (d *Directory) OldSecrets(ctx context.Context) (Reencrypted, error) {
	return d.eachSecret(ctx, "count secrets", func(*database.Tx, storedSecret) error {
		return nil
	}, nil)
}

// eachSecret calls do with every secret that is not encrypted with the newest key or not bound to
// its object's life. It calls done after each batch of a tenant, in the same transaction.
func (d *Directory) eachSecret(
	ctx context.Context, op string, do func(tx *database.Tx, s storedSecret) error, done func(tx *database.Tx, tenant string, n int) error,
) (r Reencrypted, err error) {
	keys, ok := d.keys.(dater)
	if !ok {
		return Reencrypted{}, noKeyset(op)
	}
	tenants, err := d.everyTenant(ctx, op)
	if err != nil {
		return Reencrypted{}, err
	}
	for _, tenant := range append([]string{""}, tenants...) { // the first one holds the shared models
		for _, table := range secretTables {
			batch := secretBatch{table: table, tenant: tenant, keys: keys, more: true}
			for batch.more {
				next, had := batch, r
				err := d.db.Write(ctx, op, tenant, func(tx *database.Tx) (err error) {
					next, r = batch, had
					if err := d.secretBatch(tx, &next, &r, do); err != nil {
						return err
					}
					if n := r.Done - had.Done; n > 0 && done != nil {
						return done(tx, tenant, n)
					}
					return nil
				})
				if err != nil {
					return r, err
				}
				batch = next
			}
		}
	}
	return r, nil
}

// secretBatch is a place in the secrets of a table.
type secretBatch struct {
	table, tenant, after string

	keys dater
	// more reports that there may be secrets after this place.
	more bool
}

// secretBatch handles the next batch, and moves b behind it.
func (d *Directory) secretBatch(tx *database.Tx, b *secretBatch, r *Reencrypted, do func(tx *database.Tx, s storedSecret) error) error {
	list, err := someSecrets(tx, b)
	if err != nil {
		return err
	}
	for _, s := range list {
		b.after = s.id
		_, lifeless, err := s.open(d.keys)
		if b.keys.Newest(s.sealed) && !lifeless {
			r.Current++
			continue
		}
		if err == nil {
			err = do(tx, s)
		}
		switch {
		case errors.Is(err, event.ErrInvalid):
			r.Unreadable = append(slices.Clip(r.Unreadable), s.name())
		case err != nil:
			return err
		default:
			r.Done++
		}
	}
	b.more = len(list) == secretsAtOnce
	return nil
}

// someSecrets locks the next batch of objects with a secret.
func someSecrets(tx *database.Tx, b *secretBatch) (list []storedSecret, err error) {
	err = tx.List(`SELECT id, life, secret FROM `+b.table+` WHERE tenant = ? AND id > ? AND secret IS NOT NULL ORDER BY id LIMIT ?`+tx.ForUpdate(),
		[]any{b.tenant, b.after, secretsAtOnce}, func(scan func(...any) error) error {
			s := storedSecret{table: b.table, tenant: b.tenant}
			err := scan(&s.id, &s.life, &s.sealed)
			list = append(list, s)
			return err
		})
	return list, err
}
