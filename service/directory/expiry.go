package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/database"
)

// Expiry is the time before which a tenant's conversations have expired, by their last change.
type Expiry struct {
	Tenant        string
	Conversations time.Time
}

// Expiries returns the expiries of every tenant with a retention, active or not, at the time now.
func (d *Directory) Expiries(ctx context.Context, now time.Time) ([]Expiry, error) {
	const op = "expiries"
	var list []Expiry
	after := ""
	for {
		n, had, from := 0, len(list), after
		err := d.db.ReadTenants(ctx, op, func(tx *database.Tx) error {
			n, list = 0, list[:had]
			return tx.List(`SELECT `+tenantColumns+` FROM tenant WHERE id > ? ORDER BY id LIMIT ?`, []any{from, manyTenants},
				func(scan func(...any) error) error {
					t, err := scanTenant(scan)
					if err != nil {
						return err
					}
					n, after = n+1, t.ID
					if t.Retention != (Retention{}) {
						list = append(list, t.Retention.expiry(t.ID, now))
					}
					return nil
				})
		})
		if err != nil || n < manyTenants {
			return list, err
		}
	}
}

func (r Retention) expiry(tenant string, now time.Time) Expiry {
	return Expiry{Tenant: tenant, Conversations: now.AddDate(0, 0, -r.Conversations)}
}
