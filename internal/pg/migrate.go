package pg

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
)

// Migrate makes the schema and the tables or updates them, and gives the role its rights. config is the owner's. Of several who
// migrate at once one does it and the others wait.
func (d *Database) Migrate(ctx context.Context, op string, config *pgx.ConnConfig, schema, role string) error {
	// Others may migrate already, and an index takes its time.
	for _, bound := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[bound] = "0"
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	err = d.migrate(ctx, op, conn, schema, role)
	// The lock goes with its connection.
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func (d *Database) migrate(ctx context.Context, op string, conn *pgx.Conn, schema, role string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte("braid " + d.Name + " " + schema))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(h.Sum64())); err != nil {
		return err
	}
	if err := d.checkRole(ctx, op, conn, role); err != nil {
		return err
	}
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := conn.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	if err := conn.QueryRow(ctx, selectThere, schema, d.Versions).Scan(&there); err != nil {
		return err
	}
	if there {
		var version int64
		if err := conn.QueryRow(ctx, d.selectVersion()).Scan(&version); err != nil {
			return err
		}
		if version > d.Latest() {
			return d.Newer(op, version, d.Latest())
		}
	}
	if err := Up(ctx, conn, d.Files, d.Versions); err != nil {
		return err
	}
	return d.grant(ctx, conn, schema, role)
}

// checkRole refuses a role that row-level security would not bind.
func (d *Database) checkRole(ctx context.Context, op string, conn *pgx.Conn, role string) error {
	var mighty bool
	err := conn.QueryRow(ctx, `SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, current_user, 'MEMBER')
		FROM pg_roles WHERE rolname = $1`, role).Scan(&mighty)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return &event.Error{
			Op: op, Kind: event.ErrNotFound, Message: "the role that " + d.Users + " are to log in as is not there",
			Hint: "make it first: CREATE ROLE … LOGIN",
		}
	case err != nil:
		return err
	case mighty:
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the role that " + d.Users + " are to log in as can see past row-level security",
			Hint: "name a role that is no superuser, lacks BYPASSRLS, and is not the one that migrates",
		}
	}
	return nil
}

func (d *Database) grant(ctx context.Context, conn *pgx.Conn, schema, role string) error {
	schema, role = pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	apply := func(verb, preposition string, rights ...string) error {
		for _, right := range rights {
			right = strings.ReplaceAll(right, "%schema%", schema)
			if _, err := conn.Exec(ctx, verb+" "+right+" "+preposition+" "+role); err != nil {
				return err
			}
		}
		return nil
	}
	if err := apply("REVOKE", "FROM", d.Revokes...); err != nil {
		return err
	}
	if err := apply("GRANT", "TO", `USAGE ON SCHEMA %schema%`, `SELECT ON `+d.Versions); err != nil {
		return err
	}
	return apply("GRANT", "TO", d.Grants...)
}

// Newer returns the error for tables that a newer version of Braid wrote.
func (d *Database) Newer(op string, version, known int64) error {
	return &event.Error{
		Op: op, Kind: event.ErrNewer,
		Message: d.Self + " was written by a newer version of Braid (its schema is " + strconv.FormatInt(version, 10) +
			", this version knows up to " + strconv.FormatInt(known, 10) + ")",
		Hint: "run the newer version, or restore a copy from before the upgrade",
	}
}

// Older returns the error for tables that an older version of Braid wrote.
func (d *Database) Older(op string, version, known int64) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported,
		Message: d.Self + " was written by an older version of Braid (its schema is " + strconv.FormatInt(version, 10) +
			", this version needs " + strconv.FormatInt(known, 10) + ")",
		Hint: "migrate the database, then try again",
	}
}

// NotThere returns the error for a database without the tables.
func (d *Database) NotThere(op string) error {
	return &event.Error{Op: op, Kind: event.ErrUnsupported, Message: d.Missing, Hint: "migrate the database for this role first"}
}
