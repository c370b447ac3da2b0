package database

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
)

// Owner is a connection of the owner of the tables on PostgreSQL, for operations that servers may
// not perform. It is not safe for concurrent use.
type Owner struct{ conn *pgx.Conn }

// OpenOwner connects as the owner of the tables, the role that calls [MigratePostgres]. It
// returns ErrPermission for another role.
func OpenOwner(ctx context.Context, o PostgresOptions) (*Owner, error) {
	const op = "open the service's database as its owner"
	config, err := o.config(op)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fault(op, err)
	}
	if err := checkOwner(ctx, op, conn, o.schema()); err != nil {
		return nil, fault(op, errors.Join(err, conn.Close(context.WithoutCancel(ctx))))
	}
	return &Owner{conn}, nil
}

func checkOwner(ctx context.Context, op string, conn *pgx.Conn, schema string) error {
	var there, owns bool
	err := conn.QueryRow(ctx, `SELECT count(*) > 0, coalesce(bool_and(pg_has_role(current_user, c.relowner, 'USAGE')), false)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'audit_kept'`, schema).Scan(&there, &owns)
	switch {
	case err != nil:
		return err
	case !there:
		return sharedTables.NotThere(op)
	case !owns:
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the role does not own the service's tables", Hint: "give the address of their owner",
		}
	}
	return nil
}

// Exec executes a statement and returns how many rows it changed.
func (o *Owner) Exec(ctx context.Context, op, statement string, args ...any) (int64, error) {
	tag, err := o.conn.Exec(ctx, statement, args...)
	return tag.RowsAffected(), fault(op, err)
}

// List reads rows and calls each with every row.
func (o *Owner) List(ctx context.Context, op, statement string, args []any, each func(scan func(into ...any) error) error) error {
	rows, err := o.conn.Query(ctx, statement, args...)
	if err != nil {
		return fault(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return fault(op, rows.Err())
}

// Close closes the connection.
func (o *Owner) Close(ctx context.Context) error { return fault("close", o.conn.Close(ctx)) }
