package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pgup"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

const versionTable = "journal_version"

const selectVersion = `SELECT coalesce(max(version_id), 0) FROM ` + versionTable + ` WHERE is_applied`

// latest is the schema version that this program knows: how many migrations there are.
func latest() int64 {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0 // the pattern is right
	}
	return int64(len(names))
}

// Migrate makes the journal's schema and tables, or brings them up to date, and
// gives the role the rights that a [Store] needs and no more. o names the owner, who
// may make a schema; role is the one that stores log in as. It must be there, and
// must be another one. Of several who migrate at once one does it and the
// others wait. Repeating it changes nothing.
//
// Errors are those of [Open]; ErrPermission also where role is the owner, or may
// see past row-level security.
func Migrate(ctx context.Context, o Options, role string) error {
	const op = "journal migrate"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if role == "" {
		return invalid(op, "the role that stores log in as has no name", "name it")
	}
	pool, err := pgxpool.ParseConfig(o.URL) // which knows the parameters of a pool
	if err != nil || o.URL == "" {
		return badAddress(op)
	}
	config := pool.ConnConfig
	settle(config, o)
	// Others may be at it, and an index takes the time that it takes.
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
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
	_, _ = h.Write([]byte("braid journal " + schema))
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
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	if err := pgup.Run(ctx, conn, folder, versionTable); err != nil {
		return err
	}
	return grant(ctx, conn, name, pgx.Identifier{role}.Sanitize())
}

// checkRole refuses a role for stores that row-level security would not bind.
func checkRole(ctx context.Context, op string, conn *pgx.Conn, role string) error {
	var mighty bool
	err := conn.QueryRow(ctx, `SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, current_user, 'MEMBER')
		FROM pg_roles WHERE rolname = $1`, role).Scan(&mighty)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return &event.Error{
			Op: op, Kind: event.ErrNotFound, Message: "the role that stores are to log in as is not there",
			Hint: "make it first: CREATE ROLE … LOGIN",
		}
	case err != nil:
		return err
	case mighty:
		return &event.Error{
			Op: op, Kind: event.ErrPermission,
			Message: "the role that stores are to log in as can see past row-level security",
			Hint:    "name a role that is no superuser, lacks BYPASSRLS, and is not the one that migrates",
		}
	}
	return nil
}

// grant gives what a store needs: it may add to a log, and remove a whole one, and
// not change what stands there; nor what was used, but for how a run ended.
func grant(ctx context.Context, conn *pgx.Conn, schema, role string) error {
	for _, g := range []string{
		`USAGE ON SCHEMA ` + schema,
		`SELECT ON ` + versionTable,
		`SELECT, INSERT, UPDATE, DELETE ON conversation, run, mail, state, blob, blob_ref`,
		`SELECT, INSERT, DELETE ON log, compaction, usage_logs, buried, blob_piece`,
		`SELECT, DELETE ON usage_days, storage`,
		`SELECT, INSERT, UPDATE, DELETE ON tool_execution_logs, message_logs`,
		`UPDATE (run_status) ON usage_logs`,
		`USAGE ON SEQUENCE run_key`,
		`EXECUTE ON FUNCTION store_clock(), tenant_of_conversation(text), tenant_of_run(text), due_runs(bigint),
			heads_of_conversations(text[]), posted_to_runs(text[]), edge_of_runs(bigint, text, boolean, bigint),
			edge_of_unsuccessful_runs(bigint, text, bigint), find_runs, tenants_with_loose_blobs`,
	} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(`GRANT %s TO %s`, g, role)); err != nil {
			return err
		}
	}
	return nil
}

func noJournal(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "there is no journal in the database, or the role may not see it",
		Hint: "migrate the database for this role first",
	}
}

func older(op string, version, known int64) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported,
		Message: "the journal was written by an older version of Braid (its schema is " + strconv.FormatInt(version, 10) +
			", this version needs " + strconv.FormatInt(known, 10) + ")",
		Hint: "migrate the database, then try again",
	}
}

func newer(op string, version, known int64) error {
	return &event.Error{
		Op: op, Kind: event.ErrNewer,
		Message: "the journal was written by a newer version of Braid (its schema is " + strconv.FormatInt(version, 10) +
			", this version knows up to " + strconv.FormatInt(known, 10) + ")",
		Hint: "run the newer version, or restore a copy from before the upgrade",
	}
}
