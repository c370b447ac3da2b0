package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/mcptool"
)

// This file has the doctor's checks for braid serve: the database, the key file, the credentials of models
// and the MCP servers. It changes none of them.

const (
	// databaseTime limits the checks of a database, mcpTime those of MCP servers.
	databaseTime = 15 * time.Second
	mcpTime      = 15 * time.Second
	// mostSkew is the tolerated difference between the database's clock and this machine's.
	mostSkew = 5 * time.Second
)

// checkDatabase checks the database of a server.
func checkDatabase(whole context.Context, d *diagnosis) {
	ctx, stop := context.WithTimeout(whole, databaseTime)
	defer stop()
	address, err := d.p.postgresAddress(d.in, true)
	switch {
	case err != nil:
		d.brokenBy(err, "")
	case address.Empty():
		d.lookAtFile()
	default:
		d.lookAtPostgres(ctx, address.Reveal())
	}
	if d.service != nil {
		keys := d.lookAtSecrets(ctx, !address.Empty())
		d.lookAtCredentials(ctx)
		d.lookAtTenantServers(whole, keys)
		_ = d.service.Close() // it was only read
	}
}

// lookAtFile checks the service's file in the data folder. checkData checks the journal beside it.
func (d *diagnosis) lookAtFile() {
	if d.cfg.Data == "" {
		d.ok("no database is named; braid serve needs a data folder or --postgres")
		return
	}
	file := filepath.Join(d.cfg.Data, serviceFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		d.ok("no database is named, and no server has worked in the data folder yet")
		return
	}
	if err := checkPrivate(d.cfg.Data); err != nil {
		d.brokenBy(err, "")
	}
	if err := checkJournal(d.cfg.Data); err != nil {
		d.brokenBy(err, "")
	}
	db, err := database.ViewSQLite(file)
	if err != nil {
		d.brokenBy(storeError(err), "restore a backup of the folder")
		return
	}
	d.service = db
	d.ok("%s is readable and its schema is up to date", file)
}

// lookAtPostgres checks a PostgreSQL database as the role of the servers.
func (d *diagnosis) lookAtPostgres(ctx context.Context, url string) {
	forJournal, forService, err := d.p.connections(d.in, url)
	if err != nil {
		d.brokenBy(err, "")
		return
	}
	journal, err := postgres.Open(ctx, postgres.Options{URL: url, Connections: 1})
	if err != nil {
		d.brokenBy(postgresError(err), "check the address and whether the database is up")
		return
	}
	defer journal.Close()
	if d.service, err = database.OpenPostgres(ctx, database.PostgresOptions{URL: url, Connections: 1}); err != nil {
		d.service = nil
		d.brokenBy(postgresError(err), "")
		return
	}
	asked := d.p.Now()
	server, err := journal.Server(ctx)
	if err != nil {
		d.brokenBy(postgresError(err), "")
		return
	}
	if err := journal.Check(ctx); err != nil {
		d.brokenBy(postgresError(err), "see that the database takes writes")
		return
	}
	d.ok("PostgreSQL %s answers; both schemas are up to date, and row-level security binds the role", server.Version)
	d.lookAtConnections(&server, forJournal+forService)
	// The database read its clock between the two times.
	answered := d.p.Now()
	ahead, behind := server.Now.Sub(answered), asked.Sub(server.Now)
	if skew := max(ahead, behind); skew > mostSkew {
		which := "behind"
		if ahead > behind {
			which = "ahead of"
		}
		d.warn("set both clocks by NTP: keys and quotas end by this machine's clock, leases by the database's",
			"the database's clock is %s %s this machine's", printer.Short(skew), which)
	}
}

// lookAtConnections compares the free connections with those of one server.
func (d *diagnosis) lookAtConnections(server *postgres.Server, wanted int) {
	left := server.Most - server.Reserved - server.Used
	const next = "raise max_connections of the database, or lower --postgres-connections of each server"
	switch {
	case left < wanted:
		d.warn(next, "the database has %d of %d connections left, and a server takes up to %d", max(left, 0), server.Most-server.Reserved, wanted)
	default:
		d.ok("%d of %d connections are left; a server takes up to %d", left, server.Most-server.Reserved, wanted)
	}
}

// lookAtSecrets checks that the key file decrypts the stored secrets, and returns its keys; nil for
// none.
func (d *diagnosis) lookAtSecrets(ctx context.Context, shared bool) directory.Sealer {
	file, named := d.in.Flags["secrets"], true
	if file == "" {
		file = d.p.Getenv(secretsEnv)
	}
	if file == "" && shared {
		d.lookIfOpens(ctx, nil, "")
		return nil
	}
	if file == "" {
		file, named = filepath.Join(d.cfg.Data, secretsFile), false
	}
	keys, err := keyset.Load(file)
	switch {
	case errors.Is(err, event.ErrNotFound) && !named:
		d.lookIfOpens(ctx, nil, "")
	case err != nil:
		d.brokenBy(err, "check --secrets or "+secretsEnv)
	default:
		d.lookIfOpens(ctx, keys, file)
		return keys
	}
	return nil
}

// lookIfOpens decrypts one stored secret, if there is any. file is empty without keys.
func (d *diagnosis) lookIfOpens(ctx context.Context, keys directory.Sealer, file string) {
	people := directory.New(directory.Options{Database: d.service, Keys: keys})
	defer people.Close()
	switch err := people.CheckSecrets(ctx); {
	case err != nil:
		d.brokenBy(err, "")
	case file == "":
		d.ok("there is no file of keys, and nothing is stored that needs one")
	default:
		d.ok("the file of keys opens what is stored: %s", file)
	}
}

// lookAtCredentials checks that the variables with the credentials of the directory's models are set.
func (d *diagnosis) lookAtCredentials(ctx context.Context) {
	people := directory.New(directory.Options{Database: d.service, Environment: d.p.Getenv})
	defer people.Close()
	tenants, _, err := people.ListTenants(ctx, directory.Query{Limit: directory.MostPage})
	if err != nil {
		d.brokenBy(err, "")
		return
	}
	lacking := 0
	for _, owner := range append([]directory.Tenant{{}}, tenants...) {
		models, _, err := people.ListModels(ctx, owner.ID, directory.Query{Status: directory.Active, Limit: directory.MostPage})
		if err != nil {
			d.brokenBy(err, "")
			return
		}
		for i := range models {
			name := models[i].Credential.Env
			if name == "" || d.p.Getenv(name) != "" {
				continue
			}
			lacking++
			whose := "that all tenants share"
			if owner.ID != "" {
				whose = "of the tenant " + owner.ID
			}
			d.warn("set it where braid serve is started, or give the model another credential",
				"the model %s %s needs the variable %s, which is not set", models[i].ID, whose, name)
		}
	}
	if lacking == 0 {
		d.ok("the credentials of the directory's models are set")
	}
}

// checkMCP connects to the configured MCP servers, lists their tools and closes them.
func checkMCP(ctx context.Context, d *diagnosis) {
	if d.cfg.MCP == "" {
		d.ok("no MCP servers are configured")
		return
	}
	configs, err := d.p.readMCP(&d.cfg.Settings)
	if err != nil {
		d.brokenBy(err, "correct the file of --mcp")
		return
	}
	ctx, stop := context.WithTimeout(ctx, mcpTime)
	defer stop()
	servers, err := mcptool.Reach(ctx, mcptool.Options{Commands: true, ClientVersion: readBuild().Version}, configs...)
	if err != nil {
		d.brokenBy(err, "correct the file of --mcp")
		return
	}
	defer servers.Close()
	for _, s := range servers.Status() {
		if s.Err != nil {
			message, hint := term.Describe(s.Err)
			if hint == "" {
				hint = "start it, or take it out of the file of --mcp"
			}
			d.broken(term.KindOf(s.Err), hint, "the MCP server %s cannot be used: %s", s.Name, message)
			continue
		}
		d.ok("the MCP server %s offers %d tools", s.Name, s.Tools)
		d.lookAtSkipped(&s)
	}
}

// mostSkipped is the maximum of skipped tools that are named per server.
const mostSkipped = 5

func (d *diagnosis) lookAtSkipped(s *mcptool.Status) {
	for i, skipped := range s.Skipped {
		if i == mostSkipped {
			d.warn("look at the server's list of tools", "%d more tools of the MCP server %s are left out", len(s.Skipped)-i, s.Name)
			return
		}
		what := "the tool " + skipped.Tool
		if strings.TrimSpace(skipped.Tool) == "" {
			what = "the rest of the tools"
		}
		d.warn("correct it in the server, or go without it", "%s of the MCP server %s is left out: %s", what, s.Name, skipped.Why)
	}
}
