package postgres

import "context"

// Setting is what a connection of the store's has for a setting.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// Words is what is said about one of PostgreSQL's codes.
func Words(code string) (kind, message, hint string) {
	w := words(code)
	return string(w.kind), w.message, w.hint
}

// WithRoom calls do again while the database has no connection left.
func WithRoom(ctx context.Context, do func() error) error { return withRoom(ctx, do) }
