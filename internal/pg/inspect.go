package pg

import (
	"context"

	"github.com/braidrun/braid/event"
)

const (
	// selectRole asks whether the role can get round row-level security: by what it is, or as the owner of the tables.
	selectRole = `SELECT r.rolsuper OR r.rolbypassrls OR EXISTS (
			SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind = 'r' AND pg_has_role(r.oid, c.relowner, 'MEMBER')),
		current_setting('server_encoding')
		FROM pg_roles r WHERE r.rolname = current_user`

	// selectForced counts the tables with tenants' rows, and those of them that keep tenants apart.
	selectForced = `SELECT count(*), count(*) FILTER (WHERE c.relrowsecurity AND c.relforcerowsecurity)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> $2`

	selectThere = `SELECT to_regclass(quote_ident($1) || '.' || quote_ident($2)) IS NOT NULL`
)

func (d *Database) selectVersion() string {
	return `SELECT coalesce(max(version_id), 0) FROM ` + d.Versions + ` WHERE is_applied`
}

// Row is a row of an answer.
type Row interface{ Scan(into ...any) error }

// Inspect refuses a database that cannot be trusted with tenants' data. ask asks it for one row.
func (d *Database) Inspect(ctx context.Context, op, schema string, ask func(ctx context.Context, text string, args ...any) Row) error {
	var mighty, there bool
	var encoding string
	if err := ask(ctx, selectRole, schema).Scan(&mighty, &encoding); err != nil {
		return err
	}
	if mighty {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the role for " + d.Self + " can see past row-level security",
			Hint: "use a role that is no superuser, lacks BYPASSRLS, and is not the owner of the tables",
		}
	}
	if encoding != "UTF8" {
		return &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the database does not keep text as UTF-8", Hint: "make a database with the encoding UTF8",
		}
	}
	if err := ask(ctx, selectThere, schema, d.Versions).Scan(&there); err != nil {
		return err
	}
	if !there {
		return d.NotThere(op)
	}
	var version, known int64 = 0, d.Latest()
	if err := ask(ctx, d.selectVersion()).Scan(&version); err != nil {
		return err
	}
	switch {
	case version > known:
		return d.Newer(op, version, known)
	case version == 0:
		return d.NotThere(op)
	case version < known:
		return d.Older(op, version, known)
	}
	var tables, forced int
	if err := ask(ctx, selectForced, schema, d.Versions).Scan(&tables, &forced); err != nil {
		return err
	}
	if forced != tables {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "row-level security is not in force on " + d.Tables,
			Hint: "it was turned off: force it again on all of them",
		}
	}
	return nil
}
