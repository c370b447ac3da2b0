package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

func secretsCommand(p *process) conf.Command {
	return conf.Command{
		Name: "secrets", Args: "new|rotate|reencrypt|prune FILE", Short: "make or change the keys of stored secrets",
		About: `A server encrypts secrets, such as the API keys of tenants' models, with keys in a file.
A single server creates this file in its data folder (keys.json). Servers that share a
PostgreSQL database need the same file: create it once and give it to all of them with
--secrets or ` + secretsEnv + `.

rotate adds a key that encrypts new secrets; older secrets stay readable. Servers notice
the changed file: give it to all of them before the next step. reencrypt encrypts all
stored secrets with the newest key, while servers run; repeat it if it fails. prune
then removes the older keys from the file, unless one of them is still needed.

Keep the file out of backups of the database: anyone with both can read every secret,
and without the file nobody can.`,
		Examples: []conf.Example{
			{Line: `braid secrets new /etc/braid/secret-keys.json`, Says: "create the file"},
			{Line: `braid secrets rotate /etc/braid/secret-keys.json`, Says: "add a key for new secrets"},
			{Line: `braid secrets reencrypt --postgres env /etc/braid/secret-keys.json`, Says: "encrypt the stored secrets with it"},
			{Line: `braid secrets prune --postgres env /etc/braid/secret-keys.json`, Says: "remove the older keys"},
		},
		Options: true, Some: []string{"data"}, Flags: postgresFlags(),
		Run: func(ctx context.Context, in *conf.Invocation) error { return secrets(ctx, p, in) },
	}
}

func secrets(ctx context.Context, p *process, in *conf.Invocation) error {
	do := map[string]func(ctx context.Context, p *process, in *conf.Invocation, file string) (says string, err error){
		"new": newSecrets, "rotate": rotateSecrets, "reencrypt": reencryptSecrets, "prune": pruneSecrets,
	}
	if len(in.Args) != 2 || do[in.Args[0]] == nil {
		return term.Invalid("braid secrets new FILE; rotate, reencrypt and prune take the same", "braid secrets needs an action and a file")
	}
	says, err := do[in.Args[0]](ctx, p, in, in.Args[1])
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.Stdout, says)
	return term.OutputError(err)
}

func newSecrets(_ context.Context, _ *process, _ *conf.Invocation, file string) (string, error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return "", &event.Error{
			Kind: event.ErrConflict, Message: "the file exists already", Hint: "name another one; braid secrets rotate adds a key to it",
		}
	}
	_, err := keyset.Open(file)
	return "the keys are there; give the file to each server with --secrets\n", err
}

func rotateSecrets(_ context.Context, _ *process, _ *conf.Invocation, file string) (string, error) {
	return "a new key encrypts what is stored from now on; braid secrets reencrypt does so with what was stored before\n", keyset.Rotate(file)
}

func reencryptSecrets(ctx context.Context, p *process, in *conf.Invocation, file string) (says string, err error) {
	people, done, err := p.storedSecrets(ctx, in, file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	r, err := people.Reencrypt(ctx, directory.By{Operator: true})
	if err != nil {
		return "", err
	}
	says = fmt.Sprintf("%d secrets were encrypted with the newest key, %d were so already\n", r.Done, r.Current)
	if len(r.Unreadable) > 0 {
		const most = 10
		names := strings.Join(r.Unreadable[:min(len(r.Unreadable), most)], ", ")
		return "", &event.Error{
			Kind:    event.ErrInvalid,
			Message: fmt.Sprintf("%sthe keys of %d models cannot be decrypted: %s", says, len(r.Unreadable), term.CleanLine(names)),
			Hint:    "use the file that they were encrypted with, or set these keys again",
		}
	}
	return says, nil
}

func pruneSecrets(ctx context.Context, p *process, in *conf.Invocation, file string) (says string, err error) {
	people, done, err := p.storedSecrets(ctx, in, file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	old, err := people.OldSecrets(ctx)
	if err != nil {
		return "", err
	}
	if old.Done > 0 {
		return "", &event.Error{
			Kind: event.ErrConflict, Message: fmt.Sprintf("%d secrets are encrypted with an older key", old.Done),
			Hint: "braid secrets reencrypt FILE first",
		}
	}
	gone, err := keyset.Prune(file)
	return fmt.Sprintf("%d older keys are gone; %d secrets are encrypted with the one that is left\n", gone, old.Current), err
}

// storedSecrets opens the database with the servers' secrets: that of the flags, or that of the data
// folder.
func (p *process) storedSecrets(
	ctx context.Context, in *conf.Invocation, file string,
) (people *directory.Directory, done func() error, err error) {
	keys, err := keyset.Load(file)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := p.Config(in)
	if err != nil {
		return nil, nil, err
	}
	address, err := p.postgresAddress(in, true)
	if err != nil {
		return nil, nil, err
	}
	var db *database.DB
	if address.Empty() {
		path := filepath.Join(cfg.Data, serviceFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, &event.Error{
				Kind: event.ErrNotFound, Message: "the data folder holds no tenants, so no secrets are stored there",
				Hint: "name the server's folder with --data, or its database with --postgres",
			}
		}
		db, err = database.OpenSQLite(path)
		err = storeError(err)
	} else {
		db, err = database.OpenPostgres(ctx, database.PostgresOptions{URL: address.Reveal(), Connections: 2})
		err = postgresError(err)
	}
	if err != nil {
		return nil, nil, err
	}
	people = directory.New(directory.Options{Database: db, Keys: keys})
	return people, func() error { return errors.Join(people.Close(), db.Close()) }, nil
}
