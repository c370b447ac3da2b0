package database

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pgup"
)

//go:embed postgres/*.sql
var postgresFiles embed.FS

const versionTable = "service_version"

const selectVersion = `SELECT coalesce(max(version_id), 0) FROM ` + versionTable + ` WHERE is_applied`

// latest is the schema version that this program knows: how many migrations there are.
func latest() int64 {
	names, err := fs.Glob(postgresFiles, "postgres/*.sql")
	if err != nil {
		return 0 // the pattern is right
	}
	return int64(len(names))
}

// MigratePostgres makes the service's schema and tables, or brings them up to date, and gives
// the role the rights that a [DB] needs and no more. o names the owner, who may make a
// schema; role is the one that servers log in as. It must be there, and must be another
// one. Of several who migrate at once one does it and the others wait. Repeating it changes nothing.
//
// Errors are those of [OpenPostgres]; ErrPermission also where role is the owner, or may see
// past row-level security.
func MigratePostgres(ctx context.Context, o PostgresOptions, role string) error {
	const op = "migrate the service's database"
	if role == "" {
		return &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the role that servers log in as has no name", Hint: "name it"}
	}
	config, err := o.config(op)
	if err != nil {
		return err
	}
	// Others may be at it, and an index takes the time that it takes.
	for _, bound := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[bound] = "0"
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fault(op, err)
	}
	err = migrate(ctx, op, conn, o.schema(), role)
	// The lock goes with its connection.
	return fault(op, errors.Join(err, conn.Close(context.WithoutCancel(ctx))))
}

func migrate(ctx context.Context, op string, conn *pgx.Conn, schema, role string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte("braid service " + schema))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(h.Sum64())); err != nil {
		return err
	}
	if err := checkRole(ctx, op, conn, role); err != nil {
		return err
	}
	var there bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&there)
	if err != nil {
		return err
	}
	name := pgx.Identifier{schema}.Sanitize()
	if !there {
		if _, err := conn.Exec(ctx, `CREATE SCHEMA `+name); err != nil {
			return err
		}
	}
	if err := conn.QueryRow(ctx, selectThere, schema).Scan(&there); err != nil {
		return err
	}
	if there {
		var version int64
		if err := conn.QueryRow(ctx, selectVersion).Scan(&version); err != nil {
			return err
		}
		if version > latest() {
			return newer(op, version, latest())
		}
	}
	folder, err := fs.Sub(postgresFiles, "postgres")
	if err != nil {
		return err
	}
	if err := pgup.Run(ctx, conn, folder, versionTable); err != nil {
		return err
	}
	return grant(ctx, conn, name, pgx.Identifier{role}.Sanitize())
}

// checkRole refuses a role for servers that row-level security would not bind.
func checkRole(ctx context.Context, op string, conn *pgx.Conn, role string) error {
	var mighty bool
	err := conn.QueryRow(ctx, `SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, current_user, 'MEMBER')
		FROM pg_roles WHERE rolname = $1`, role).Scan(&mighty)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return &event.Error{
			Op: op, Kind: event.ErrNotFound, Message: "the role that servers are to log in as is not there",
			Hint: "make it first: CREATE ROLE … LOGIN",
		}
	case err != nil:
		return err
	case mighty:
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the role that servers are to log in as can see past row-level security",
			Hint: "name a role that is no superuser, lacks BYPASSRLS, and is not the one that migrates",
		}
	}
	return nil
}

// grant gives what a server needs. Entries of an audit and versions of an agent are added, and
// never changed; entries go by a function alone. Rights that would let the role erase an audit are taken from it.
func grant(ctx context.Context, conn *pgx.Conn, schema, role string) error {
	for _, r := range []string{
		`UPDATE, DELETE, TRUNCATE, TRIGGER ON audit`,
		`INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER ON audit_erasure`,
		`ALL ON audit_kept`,
		`CREATE ON SCHEMA ` + schema,
	} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(`REVOKE %s FROM %s`, r, role)); err != nil {
			return err
		}
	}
	for _, g := range []string{
		`USAGE ON SCHEMA ` + schema,
		`SELECT ON ` + versionTable,
		`SELECT, INSERT, UPDATE, DELETE ON conversation, expired, tenant, agent, model, model_name, api_key, idempotency`,
		`SELECT, INSERT, DELETE ON agent_version`,
		`SELECT, DELETE ON conversation_count`,
		`SELECT, INSERT, UPDATE, DELETE ON spend, reservation`,
		`SELECT, INSERT, UPDATE ON audit_head`,
		`SELECT, INSERT ON audit`,
		`SELECT ON audit_erasure`,
		`SELECT, UPDATE (n) ON change`,
		`EXECUTE ON FUNCTION tenant_of_key(text), erase_audit(text)`,
	} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(`GRANT %s TO %s`, g, role)); err != nil {
			return err
		}
	}
	return nil
}

func notThere(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "the service's tables are not in the database, or the role may not see them",
		Hint: "migrate the database for this role first",
	}
}

func older(op string, version, known int64) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported,
		Message: "the service's database was written by an older version of Braid (its schema is " + strconv.FormatInt(version, 10) +
			", this version needs " + strconv.FormatInt(known, 10) + ")",
		Hint: "migrate the database, then try again",
	}
}
