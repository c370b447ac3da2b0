package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/directory"
)

// secretsEnv names the file with the keys that secrets are encrypted with.
const secretsEnv = conf.EnvPrefix + "SECRETS"

// secretsFile is where the data folder keeps them where no other file is named.
const secretsFile = "keys.json"

// secretKeys are what the server encrypts providers' keys with. A file that somebody names must be
// there. Servers that share a database all need the same one: where none is named they keep no
// secrets, since what one of them had made by itself the others could not read.
func (p *process) secretKeys(cfg *conf.Config, in *conf.Invocation, shared bool) (directory.Sealer, error) {
	file, open := in.Flags["secrets"], keyset.Load
	if file == "" {
		file = p.Getenv(secretsEnv)
	}
	if file == "" && shared {
		return nil, nil //nolint:nilnil // without keys no secrets are kept, and the directory says so
	}
	if file == "" {
		file, open = filepath.Join(cfg.Data, secretsFile), keyset.Open
	}
	keys, err := open(file)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// checkedKeys are the keys of a server's secrets. A server whose database holds secrets that its keys do not
// open was restored without its file of keys: it does not start, and no other file is made in its place.
func (p *process) checkedKeys(ctx context.Context, cfg *conf.Config, in *conf.Invocation, s *stores) (directory.Sealer, error) {
	check := func(keys directory.Sealer) error {
		people := directory.New(directory.Options{Database: s.database, Keys: keys})
		return errors.Join(people.CheckSecrets(ctx), people.Close())
	}
	own := in.Flags["secrets"] == "" && p.Getenv(secretsEnv) == "" && !s.shared
	if _, err := os.Lstat(filepath.Join(cfg.Data, secretsFile)); own && errors.Is(err, fs.ErrNotExist) {
		if err := check(nil); err != nil {
			return nil, err
		}
	}
	keys, err := p.secretKeys(cfg, in, s.shared)
	if err != nil {
		return nil, err
	}
	return keys, check(keys)
}
