package directory

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// These bound how much CheckSecrets reads, so that a server with much data starts soon too.
const (
	mostLooked      = 32
	mostTenantsSeen = 1000
)

// CheckSecrets returns [event.ErrInvalid] if none of the stored secrets that it reads can be
// decrypted: the directory then has the keys of another database. It reads only a few.
func (d *Directory) CheckSecrets(ctx context.Context) error {
	const op = "check secrets"
	tenants := []string{""}
	if d.db.Shared() { // otherwise a query sees all tenants at once
		more, err := d.everyTenant(ctx, op)
		if err != nil {
			return err
		}
		tenants = append(tenants, more[:min(len(more), mostTenantsSeen)]...)
	}
	looked := 0
	for _, tenant := range tenants {
		opens := false
		err := d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
			for _, table := range secretTables {
				err := tx.List(`SELECT tenant, id, life, secret FROM `+table+` WHERE secret IS NOT NULL LIMIT ?`, []any{max(mostLooked-looked, 0)},
					func(scan func(...any) error) error {
						s := storedSecret{table: table}
						if err := scan(&s.tenant, &s.id, &s.life, &s.sealed); err != nil {
							return err
						}
						looked++
						if d.keys != nil {
							_, _, err := s.open(d.keys)
							opens = opens || err == nil
						}
						return nil
					})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || opens {
			return err
		}
		if looked >= mostLooked {
			break
		}
	}
	if looked == 0 {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the database contains model keys that were encrypted with another key file",
		Hint: "restore that file, or name it with --secrets",
	}
}
