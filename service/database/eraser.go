package database

import (
	"context"
	"database/sql"
	"errors"

	"github.com/braidrun/braid/event"
)

// selectEraser returns the privilege by which the role, or one that it may become, could erase an
// audit; no row if there is none. The migration lets a server only add entries and move the audit
// of an erased tenant to audit_kept, which only the owner of the tables can reach.
const selectEraser = `SELECT why FROM pg_roles m, pg_namespace n, pg_database d, LATERAL (VALUES
		(1, 'it owns the schema', pg_has_role(m.oid, n.nspowner, 'MEMBER')),
		(2, 'it may create objects in the schema', has_schema_privilege(m.oid, n.oid, 'CREATE')),
		(3, 'it owns the database', pg_has_role(m.oid, d.datdba, 'MEMBER')),
		(4, 'it may change or remove rows of the table audit',
			has_table_privilege(m.oid, 'audit', 'UPDATE, DELETE, TRUNCATE, TRIGGER') OR has_any_column_privilege(m.oid, 'audit', 'UPDATE')),
		(5, 'it may write to the table audit_erasure', has_table_privilege(m.oid, 'audit_erasure', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
			OR has_any_column_privilege(m.oid, 'audit_erasure', 'INSERT, UPDATE')),
		(6, 'it may write to the table audit_kept', has_table_privilege(m.oid, 'audit_kept', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
			OR has_any_column_privilege(m.oid, 'audit_kept', 'INSERT, UPDATE')),
		(7, 'it may make roles, and itself a member of the owner', m.rolcreaterole AND current_setting('server_version_num')::integer < 160000),
		(8, 'it may run programs or write files on the database''s machine', m.rolname IN ('pg_execute_server_program', 'pg_write_server_files'))
	) AS r (place, why, could)
	WHERE n.nspname = $1 AND d.datname = current_database() AND pg_has_role(current_user, m.oid, 'MEMBER') AND could
	ORDER BY place LIMIT 1`

// checkEraser refuses a role that could erase an audit.
func checkEraser(ctx context.Context, op string, db *sql.DB, schema string) error {
	var why string
	err := db.QueryRowContext(ctx, selectEraser, schema).Scan(&why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Message: "the role for the service's database could erase the audit: " + why,
		Hint: "take this right from it, migrate the database for it again, or use another role",
	}
}
