package sqlite

import (
	"context"
	"database/sql"
)

// StoredBytes implements [journal.Catalog].
func (s *Store) StoredBytes(ctx context.Context, tenant string) (bytes int64, err error) {
	const op = "journal stored bytes"
	if err := names(op, tenant); err != nil {
		return 0, err
	}
	err = s.rows(ctx, op, `SELECT bytes FROM storage WHERE tenant = ?`, []any{tenant}, func(rows *sql.Rows) error {
		return rows.Scan(&bytes)
	}, func() { bytes = 0 })
	return bytes, err
}
