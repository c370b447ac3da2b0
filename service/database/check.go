package database

import (
	"context"
	"errors"
)

// insertProbe writes rows that nobody else ever sees: they are taken back. They are [lowspace.Bytes] and more.
const insertProbe = `INSERT INTO reservation (tenant, id, day, tokens, nano_usd, expires)
	SELECT '', gen_random_uuid()::text, 0, 0, 0, 0 FROM generate_series(1, 3000)`

// errProbed takes a probe back.
var errProbed = errors.New("the probe is over")

// Check returns nil if the database has space, as far as is known. Once a write to PostgreSQL has found none, Check writes to find
// out, at most once a second and until that succeeds. It takes back what it writes.
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
