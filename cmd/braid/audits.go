package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

func auditsCommand(p *process) conf.Command {
	return conf.Command{
		Name: "audits", Args: "list|export|remove [ID]", Short: "read and remove the audits of erased tenants in PostgreSQL",
		About: `The database role of servers cannot erase an audit. When a tenant is erased, its audit
moves to a table that only the owner of the tables can reach. The address is the
owner's, as for braid migrate.

list shows these audits. export writes the entries of one as JSON, one per line. remove
deletes the entries of tenants that were erased longer ago than --older-than, and keeps
a record of the erasure. This removes the last data of an erased tenant. PostgreSQL
overwrites the deleted rows at its next vacuum.`,
		Examples: []conf.Example{
			{Line: `braid audits list --postgres postgres://owner@db/braid`, Says: "what is kept of erased tenants"},
			{Line: `braid audits export 3 --postgres postgres://owner@db/braid > acme.jsonl`, Says: "the entries of one of them"},
			{Line: `braid audits remove --older-than 30d --postgres postgres://owner@db/braid`, Says: "remove what is older"},
		},
		Flags: append(postgresFlags(), conf.Flag{
			Name: "older-than", Value: "TIME", Help: "remove audits of tenants that were erased longer ago: 30d or 12h",
		}),
		Run: func(ctx context.Context, in *conf.Invocation) error { return audits(ctx, p, in) },
	}
}

func audits(ctx context.Context, p *process, in *conf.Invocation) error {
	verb := ""
	if len(in.Args) > 0 {
		verb = in.Args[0]
	}
	if wanted := map[string]int{"list": 1, "export": 2, "remove": 1}[verb]; wanted == 0 || len(in.Args) != wanted {
		return term.Invalid("braid audits list, braid audits export ID, or braid audits remove --older-than 30d", "braid audits needs an action")
	}
	before, err := removedBefore(p.Now(), verb, in.Flags["older-than"])
	if err != nil {
		return err
	}
	address, err := p.postgresAddress(in, true)
	if err != nil {
		return err
	}
	if address.Empty() {
		return term.Invalid("give the owner's address: --postgres postgres://owner@host/database, or "+postgresEnv,
			"only PostgreSQL keeps audits of erased tenants")
	}
	owner, err := database.OpenOwner(ctx, database.PostgresOptions{URL: address.Reveal()})
	if err != nil {
		return postgresError(err)
	}
	defer owner.Close(context.WithoutCancel(ctx))
	switch verb {
	case "list":
		return listAudits(ctx, p, owner)
	case "export":
		return exportAudit(ctx, p, owner, in.Args[1])
	}
	n, err := directory.RemoveKeptAudits(ctx, owner, before)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%d entries were removed.\n", n)
	return term.OutputError(err)
}

// removedBefore reads --older-than, a flag of remove.
func removedBefore(now time.Time, verb, text string) (time.Time, error) {
	if verb != "remove" {
		if text != "" {
			return time.Time{}, term.Invalid("leave it out", "--older-than belongs to braid audits remove")
		}
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, term.Invalid("write it as 30d or 12h", "--older-than: %q is no time", term.Fit(text, 40))
}

func listAudits(ctx context.Context, p *process, owner *database.Owner) error {
	list, err := directory.KeptAudits(ctx, owner)
	if err != nil {
		return err
	}
	for i := range list {
		k := &list[i]
		_, err := fmt.Fprintf(p.Stdout, "%d\t%s\t%s\t%d of %d entries kept\n",
			k.ID, term.CleanLine(k.Tenant), k.Erased.Format(time.RFC3339), k.Kept, k.Entries)
		if err != nil {
			return term.OutputError(err)
		}
	}
	return nil
}

func exportAudit(ctx context.Context, p *process, owner *database.Owner, text string) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return term.Invalid("take it from braid audits list", "%q is no number of an audit", term.Fit(text, 40))
	}
	out := json.NewEncoder(p.Stdout)
	n := 0
	err = directory.KeptEntries(ctx, owner, id, func(e directory.Entry) error {
		n++
		return term.OutputError(out.Encode(e))
	})
	if err == nil && n == 0 {
		err = term.Invalid("take it from braid audits list", "no entries are kept of the audit %d", id)
	}
	return err
}
