package database

import (
	"context"
	"errors"
)

// insertProbe writes rows of at least [lowspace.Bytes]. They are rolled back, so nobody sees
// them.
const insertProbe = `INSERT INTO reservation (tenant, id, day, tokens, nano_usd, expires)
	SELECT '', gen_random_uuid()::text, 0, 0, 0, 0 FROM generate_series(1, 3000)`

// errProbed rolls a probe back.
var errProbed = errors.New("the probe is over")

// Check returns nil if the database has space as far as it knows. After a write to PostgreSQL has
// found none, Check writes a probe and rolls it back, at most once a second, until a probe
// succeeds.
func (db *DB) Check(ctx context.Context) error {
	if !db.shared {
		return nil
	}
	return db.space.Check(ctx, func(ctx context.Context) error {
		err := db.Write(ctx, "check the service's database", "", func(tx *Tx) error {
			if _, err := tx.Exec(insertProbe); err != nil {
				return err
			}
			return errProbed
		})
		if errors.Is(err, errProbed) {
			return nil
		}
		return err
	})
}
