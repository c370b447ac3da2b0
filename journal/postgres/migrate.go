package postgres

import (
	"context"
	"embed"
	"io/fs"

	"github.com/braidrun/braid/internal/pg"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// tables are the journal's tables and the role's rights on them. A store may add to a log and
// remove a whole log, but not change it. It may not change usage rows either, except for the
// final status of a run.
var tables = pg.Database{
	Name: "journal", Files: migrations(), Versions: "journal_version",
	Grants: []string{
		`SELECT, INSERT, UPDATE, DELETE ON conversation, run, mail, state, blob, blob_ref, stored_fold`,
		`SELECT, INSERT, DELETE ON log, compaction, usage_logs, buried, blob_piece, stored_fold_part`,
		`SELECT, DELETE ON usage_days, usage_people, storage`,
		`SELECT, INSERT, UPDATE, DELETE ON tool_execution_logs, message_logs`,
		`UPDATE (run_status) ON usage_logs`,
		`USAGE ON SEQUENCE run_key`,
		`EXECUTE ON FUNCTION store_clock(), tenant_of_conversation(text), tenant_of_run(text), due_runs(bigint),
			heads_of_conversations(text[]), posted_to_runs(text[]), edge_of_runs(bigint, text, boolean, bigint),
			edge_of_unsuccessful_runs(bigint, text, bigint), find_runs, tenants_with_loose_blobs`,
	},

	Self: "the journal", Tables: "the journal's tables", Role: "the journal's role", Users: "stores",
	Missing: "there is no journal in the database, or the role may not see it",
	Full: pg.Words{
		Message: "there is no space left for the journal",
		Hint:    "free some on the database's disk; writing goes on by itself, and nothing that was acknowledged is lost",
	},
	Stale: pg.Words{
		Message: "the journal in the database is not of this version, or not there", Hint: "migrate the database, or run the version that did",
	},
	TooLarge: pg.Words{
		Message: "an id or a commit is larger than the journal can hold", Hint: "use shorter ids, and store large content elsewhere",
	},
	BadText:    pg.Words{Message: "a name or an id holds what text cannot hold", Hint: "send UTF-8 without zero characters"},
	Unexpected: pg.Words{Message: "the database gave an error that should not happen"},
}

func migrations() fs.FS {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return migrationFiles // the name is valid
	}
	return folder
}

// Migrate creates or updates the journal's schema and tables, and grants the role exactly the
// rights that a [Store] needs. o names the owner, who may create a schema. role is the role of
// the stores; it must exist and differ from the owner. Concurrent migrations wait for each other.
// Repeating it changes nothing.
//
// The errors are those of [Open], and ErrPermission if role is the owner or may bypass row-level
// security.
func Migrate(ctx context.Context, o Options, role string) error {
	const op = "journal migrate"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if role == "" {
		return invalid(op, "the role that stores log in as has no name", "name it")
	}
	config, err := o.config(op)
	if err != nil {
		return err
	}
	return fault(op, tables.Migrate(ctx, op, config.ConnConfig, o.schema(), role))
}
