package database

import "context"

// Unscoped asks for one row without saying whose.
func Unscoped(ctx context.Context, db *DB, statement string, into ...any) error {
	return db.sql.QueryRowContext(ctx, statement).Scan(into...)
}
