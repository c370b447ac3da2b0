package directory

import (
	"context"

	"github.com/braidrun/braid/service/database"
)

// manyTenants is how many tenants are read at once.
const manyTenants = 1000

// everyTenant returns the ids of all tenants.
func (d *Directory) everyTenant(ctx context.Context, op string) (ids []string, err error) {
	for after := ""; ; after = ids[len(ids)-1] {
		had := len(ids)
		err := d.db.ReadTenants(ctx, op, func(tx *database.Tx) error {
			ids = ids[:had]
			return tx.List(`SELECT id FROM tenant WHERE id > ? ORDER BY id LIMIT ?`, []any{after, manyTenants}, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
		})
		if err != nil || len(ids)-had < manyTenants {
			return ids, err
		}
	}
}
