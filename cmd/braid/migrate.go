package main

import (
	"context"
	"fmt"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/service/database"
)

func migrateCommand(p *process) conf.Command {
	return conf.Command{
		Name: "migrate", Short: "make or update the tables in PostgreSQL",
		About: `Creates or updates the tables for braid serve --postgres, and grants the role of the
servers only the rights that they need.

There are two roles. The owner of the tables migrates: use its address. Servers log in
as another role, to which row-level security applies; create it first. The database
must use UTF-8. A second migration changes nothing. If several run at once, one does
the work and the others wait. After an update of braid, migrate before you start the
new servers; servers of the old version then refuse to start again.`,
		Examples: []conf.Example{
			{Line: `braid migrate --postgres postgres://owner@db/braid --role braid_server`, Says: "make the tables, or update them"},
			{Line: postgresEnv + `=… braid serve`, Says: "and then serve, as braid_server"},
		},
		Flags: append(postgresFlags(), conf.Flag{Name: "role", Value: "ROLE", Help: "the role that servers log in as"}),
		Run:   func(ctx context.Context, in *conf.Invocation) error { return migrate(ctx, p, in) },
	}
}

func migrate(ctx context.Context, p *process, in *conf.Invocation) error {
	if err := in.NoArguments(); err != nil {
		return err
	}
	address, err := p.postgresAddress(in, true)
	if err != nil {
		return err
	}
	if address.Empty() {
		return term.Invalid("give the owner's address: --postgres postgres://owner@host/database, or "+postgresEnv, "there is no database to migrate")
	}
	role := in.Flags["role"]
	if role == "" {
		return term.Invalid("name the role of the servers, which is not the owner: CREATE ROLE braid_server LOGIN", "--role is missing")
	}
	if err := postgres.Migrate(ctx, postgres.Options{URL: address.Reveal()}, role); err != nil {
		return migrateError(err)
	}
	if err := database.MigratePostgres(ctx, database.PostgresOptions{URL: address.Reveal()}, role); err != nil {
		return migrateError(err)
	}
	_, err = fmt.Fprintf(p.Stdout, "The tables are there and up to date. Servers log in as %s.\n", term.CleanLine(role))
	return term.OutputError(err)
}
