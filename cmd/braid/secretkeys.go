package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
)

func secretsCommand() command {
	return command{
		name: "secrets", args: "new|rotate FILE", short: "make or change the keys of stored secrets",
		about: `A server encrypts what it keeps secret, such as the API keys of tenants' models, with
keys in a file. One that works alone makes that file in its data folder. Several that
work on one PostgreSQL need the same file each: make it once and give it to all of them
with --secrets or ` + secretsEnv + `.

rotate adds a key that encrypts from then on; what was encrypted before stays readable.
Servers read the file when they start. Keep it out of backups of the database: who has
both can read every secret; who loses it can read none.`,
		examples: []example{
			{`braid secrets new /etc/braid/secret-keys.json`, "make the file"},
			{`braid secrets rotate /etc/braid/secret-keys.json`, "a new key for what is stored from now on"},
		},
		run: secrets,
	}
}

func secrets(_ context.Context, p *process, in *invocation) error {
	if len(in.args) != 2 || in.args[0] != "new" && in.args[0] != "rotate" {
		return invalid("braid secrets new FILE, or braid secrets rotate FILE", "braid secrets takes what to do, and the file")
	}
	file, says := in.args[1], "a new key encrypts what is stored from now on, once servers have been started again\n"
	if in.args[0] == "rotate" {
		if err := keyset.Rotate(file); err != nil {
			return err
		}
	} else {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return &event.Error{
				Kind: event.ErrConflict, Message: "there is such a file already", Hint: "name another one; braid secrets rotate adds a key to it",
			}
		}
		if _, err := keyset.Open(file); err != nil {
			return err
		}
		says = "the keys are there; give the file to each server with --secrets\n"
	}
	_, err := fmt.Fprint(p.stdout, says)
	return outputError(err)
}
