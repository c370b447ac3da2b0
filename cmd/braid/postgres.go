package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// postgresEnv is the variable with the database's address. It may contain a password, so it is never
// printed.
const postgresEnv = conf.EnvPrefix + "POSTGRES_URL"

// connectionsEnv is the variable with the maximum of connections of a server.
const connectionsEnv = conf.EnvPrefix + "POSTGRES_CONNECTIONS"

const (
	// defaultConnections allows ten servers on a database with 100 connections, 3 of which are reserved.
	defaultConnections = 8
	mostConnections    = 1000
)

// connectionFlag sets the maximum of connections of a server.
var connectionFlag = conf.Flag{
	Name: "postgres-connections", Value: "N",
	Help: "maximum of connections of this server to the database (" + connectionsEnv + ", else pool_max_conns of the address, else 8)",
}

// connections divides a server's connections between the journal and its other tables.
func (p *process) connections(in *conf.Invocation, address string) (forJournal, forService int, err error) {
	named, text := "--postgres-connections", in.Flags["postgres-connections"]
	if text == "" {
		named, text = connectionsEnv, p.Getenv(connectionsEnv)
	}
	n := database.PoolOf(address, defaultConnections)
	if text != "" {
		n, err = strconv.Atoi(text)
	}
	if err != nil || n < 2 || n > mostConnections {
		if text == "" {
			named, text = "pool_max_conns of the database's address", strconv.Itoa(n)
		}
		return 0, 0, term.Invalid("give a whole number from 2 to 1000", "%s: %q is not a number of connections", named, term.Fit(text, 40))
	}
	forService = max(n*3/8, 1)
	return n - forService, forService, nil
}

// mostAddress is the maximum size of a file with an address.
const mostAddress = 64 << 10

// postgresFlags are the flags for the database's address.
func postgresFlags() []conf.Flag {
	return []conf.Flag{
		{Name: "postgres", Value: "URL", Help: "keep everything in this PostgreSQL database; put a password into " + postgresEnv + " or a file"},
		{Name: "postgres-file", Value: "FILE", Help: "file that holds the address of the database (" + postgresEnv + ")"},
	}
}

// archivePostgresFlags are postgresFlags for commands that only read.
func archivePostgresFlags() []conf.Flag {
	flags := postgresFlags()
	flags[0].Help = `look in this PostgreSQL database; "env" is the one that ` + postgresEnv + " names"
	return flags
}

// passwordInWords matches a password in an address such as "host=… password=…".
var passwordInWords = lazyre.New(`(?i)(^|[\s?&])(ssl)?password\s*=`)

// postgresAddress returns the database's address, or an empty one without a database. It reads the variable
// if ambient is set and no flag overrides it.
func (p *process) postgresAddress(in *conf.Invocation, ambient bool) (secret.Secret, error) {
	flag, file := in.Flags["postgres"], in.Flags["postgres-file"]
	switch {
	case flag != "" && file != "":
		return secret.Secret{}, term.Invalid("leave one of them out", "--postgres and --postgres-file are both given")
	case file != "":
		data, err := conf.ReadLimited(file, mostAddress)
		e := &event.Error{Kind: event.ErrPermission, Message: "the file with the database's address cannot be read", Err: err}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no file with the database's address", "check --postgres-file"
			return secret.Secret{}, e
		case err != nil:
			e.Hint = "let only this user read it"
			return secret.Secret{}, e
		}
		address := secret.New(string(data))
		if address.Empty() {
			return secret.Secret{}, term.Invalid("write the address in it: postgres://role:password@host/database",
				"the file with the database's address is empty")
		}
		return address, nil
	case flag == "env" || flag == "" && ambient:
		address := secret.New(p.Getenv(postgresEnv))
		if address.Empty() && flag != "" {
			return secret.Secret{}, term.Invalid("set it: postgres://role:password@host/database", "%s is not set", postgresEnv)
		}
		return address, nil
	case flag == "":
		return secret.Secret{}, nil
	}
	u, err := url.Parse(flag)
	has := passwordInWords.MatchString(flag)
	if err == nil && u.User != nil {
		_, set := u.User.Password()
		has = has || set
	}
	if has {
		return secret.Secret{}, term.Invalid("set "+postgresEnv+", or name a file with --postgres-file; libpq's ~/.pgpass is read, too",
			"a password on a command line can be read by everybody on this machine")
	}
	return secret.New(flag), nil
}

// postgresError adds hints for an unusable database.
func postgresError(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Op = ""
	const migrate = "as the owner of the tables: braid migrate --postgres URL --role ROLE"
	switch {
	case e.Kind == event.ErrUnsupported, e.Kind == event.ErrPermission && strings.Contains(e.Hint, "migrate"):
		told.Hint = migrate + "; ROLE is the one that servers log in as"
	case e.Kind == event.ErrNotFound && strings.Contains(e.Message, "database"):
		told.Hint = "make it (CREATE DATABASE … ENCODING 'UTF8'), or correct its name in the address; then, " + migrate
	case e.Kind == event.ErrNewer:
		told.Hint = "run the newer version of braid, or restore a backup from before the upgrade"
	}
	return &told
}

// openPostgresArchive opens the database for reading, beside running servers.
func (p *process) openPostgresArchive(ctx context.Context, address secret.Secret) (archive, error) {
	store, err := postgres.Open(ctx, postgres.Options{URL: address.Reveal(), Connections: 2})
	if err != nil {
		return nil, postgresError(err)
	}
	return store, nil
}

// migrateError is postgresError for braid migrate.
func migrateError(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Op = ""
	if e.Kind == event.ErrPermission && strings.Contains(e.Hint, "migrate") {
		told.Hint = "migrate as the owner of the tables, who may make schemas in the database: GRANT CREATE ON DATABASE … TO owner"
	}
	return &told
}
