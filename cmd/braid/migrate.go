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
		About: `Makes the tables that braid serve --postgres needs, or brings them up to date, and
gives the role that servers log in as the rights that they need and no more.

There are two roles. The owner of the tables migrates: the address is that one's.
Servers log in as another one, which row-level security binds; make it first. The
database must keep text as UTF-8. Repeating it changes nothing, and of several that
run at once one does the work and the others wait. After an upgrade of braid, migrate
before the new servers start; those of the version before then end with a clear
sentence when they are started again.`,
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
		return term.Invalid("name the role that servers log in as, which is another than the owner: CREATE ROLE braid_server LOGIN", "--role is missing")
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
