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
	// Unreadable are the secrets that no key opens, as "tenant/model". They stay unchanged.
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
		sealed, err := d.keys.Seal(plain, place(s.tenant, s.model, s.life))
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE model SET secret = ? WHERE tenant = ? AND id = ?`, sealed, s.tenant, s.model)
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
// its model's life. It calls done after each batch of a tenant, in the same transaction.
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
		for after, more := "", true; more; {
			had, from := r, after
			err := d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
				r, after = had, from
				list, err := someSecrets(tx, tenant, from)
				if err != nil {
					return err
				}
				for _, s := range list {
					after = s.model
					_, lifeless, err := s.open(d.keys)
					if keys.Newest(s.sealed) && !lifeless {
						r.Current++
						continue
					}
					if err == nil {
						err = do(tx, s)
					}
					switch {
					case errors.Is(err, event.ErrInvalid):
						r.Unreadable = append(slices.Clip(r.Unreadable), tenant+"/"+s.model)
					case err != nil:
						return err
					default:
						r.Done++
					}
				}
				more = len(list) == secretsAtOnce
				if n := r.Done - had.Done; n > 0 && done != nil {
					return done(tx, tenant, n)
				}
				return nil
			})
			if err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// someSecrets locks the next batch of a tenant's models with a secret.
func someSecrets(tx *database.Tx, tenant, after string) (list []storedSecret, err error) {
	err = tx.List(`SELECT id, life, secret FROM model WHERE tenant = ? AND id > ? AND secret IS NOT NULL ORDER BY id LIMIT ?`+tx.ForUpdate(),
		[]any{tenant, after, secretsAtOnce}, func(scan func(...any) error) error {
			s := storedSecret{tenant: tenant}
			err := scan(&s.model, &s.life, &s.sealed)
			list = append(list, s)
			return err
		})
	return list, err
}
