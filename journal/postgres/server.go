package postgres

import (
	"context"
	"time"
)

// Server is the state of a database server.
type Server struct {
	Version string
	// Now is the server's clock.
	Now time.Time
	// Most is the maximum of connections, Reserved the part for superusers, and Used the current
	// number.
	Most, Reserved, Used int
}

const selectServer = `SELECT current_setting('server_version'), store_clock(), current_setting('max_connections')::int,
	current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0),
	(SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::int`

// Server returns the state of the database server, for checks of a deployment.
func (s *Store) Server(ctx context.Context) (Server, error) {
	const op = "journal server"
	if err := alive(ctx, op); err != nil {
		return Server{}, err
	}
	var found Server
	var now int64
	err := s.pool.QueryRow(ctx, selectServer).Scan(&found.Version, &now, &found.Most, &found.Reserved, &found.Used)
	if err != nil {
		return Server{}, fault(op, err)
	}
	found.Now = fromMicros(now)
	return found, nil
}
