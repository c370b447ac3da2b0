package database

import (
	"context"
	"embed"
	"io/fs"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

//go:embed postgres/*.sql
var postgresFiles embed.FS

// sharedTables are the service's tables and the role's rights on them. Audit entries and versions
// of an agent can be added but not changed; only a function removes entries. The migration
// revokes rights that would let the role erase an audit.
var sharedTables = pg.Database{
	Name: "service", Files: migrations(), Versions: "service_version",
	Revokes: []string{
		`UPDATE, DELETE, TRUNCATE, TRIGGER ON audit`,
		`INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER ON audit_erasure`,
		`ALL ON audit_kept`,
		`CREATE ON SCHEMA %schema%`,
	},
	Grants: []string{
		`SELECT, INSERT, UPDATE, DELETE ON conversation, expired, tenant, agent, model, model_name, api_key, idempotency, ` +
			`mcp_server, mcp_document, mcp_grant`,
		`SELECT, INSERT, UPDATE, DELETE ON webhook, webhook_notice, webhook_delivery, webhook_due`,
		`SELECT, INSERT, UPDATE, DELETE ON skill, skill_loose`,
		`SELECT, INSERT, DELETE ON agent_version, mcp_server_version, skill_version`,
		`SELECT, DELETE ON conversation_count`,
		`SELECT, INSERT, UPDATE, DELETE ON spend, reservation`,
		`SELECT, INSERT, UPDATE ON audit_head`,
		`SELECT, INSERT ON audit`,
		`SELECT ON audit_erasure`,
		`SELECT, UPDATE (n) ON change`,
		`EXECUTE ON FUNCTION tenant_of_key(text), erase_audit(text)`,
	},

	Self: "the service's database", Tables: "the service's tables", Role: "the service's role", Users: "servers",
	Missing: "the service's tables are not in the database, or the role may not see them",
	Full:    pg.Words{Message: noSpace, Hint: "free some on the database's disk, then try again"},
	Stale: pg.Words{
		Message: "the service's tables are not of this version, or not there", Hint: "migrate the database, or run the version that did",
	},
	TooLarge:   pg.Words{Message: "this is larger than the database can hold", Hint: "send less"},
	BadText:    pg.Words{Message: "a text holds what the database cannot keep", Hint: "send UTF-8 without zero characters"},
	Unexpected: pg.Words{Message: "the database gave an error that should not happen", Hint: "tell the operator of this service"},
}

func migrations() fs.FS {
	folder, err := fs.Sub(postgresFiles, "postgres")
	if err != nil {
		return postgresFiles // the name is valid
	}
	return folder
}

// MigratePostgres creates or updates the service's schema and tables, and grants the role exactly
// the rights that a [DB] needs. o names the owner, who may create a schema. role is the role of
// the servers; it must exist and differ from the owner. Concurrent migrations wait for each
// other. Repeating it changes nothing.
//
// The errors are those of [OpenPostgres], and ErrPermission if role is the owner or may bypass
// row-level security.
func MigratePostgres(ctx context.Context, o PostgresOptions, role string) error {
	const op = "migrate the service's database"
	if role == "" {
		return &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the role that servers log in as has no name", Hint: "name it"}
	}
	config, err := o.config(op)
	if err != nil {
		return err
	}
	return fault(op, sharedTables.Migrate(ctx, op, config.ConnConfig, o.schema(), role))
}
