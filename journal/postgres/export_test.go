package postgres

import "context"

// Setting returns the value of a setting on a connection of the store.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// Words returns the message for one of PostgreSQL's error codes.
func Words(code string) (kind, message, hint string) {
	e := tables.Error(code)
	return string(e.Kind), e.Message, e.Hint
}
