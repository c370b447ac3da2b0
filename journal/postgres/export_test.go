package postgres

import "context"

// Setting is what a connection of the store's has for a setting.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// Words is what is said about one of PostgreSQL's codes.
func Words(code string) (kind, message, hint string) {
	e := tables.Error(code)
	return string(e.Kind), e.Message, e.Hint
}
