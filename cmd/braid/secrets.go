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

// secretsEnv is the variable with the path of the key file.
const secretsEnv = conf.EnvPrefix + "SECRETS"

// secretsFile is the default key file, in the data folder.
const secretsFile = "keys.json"

// secretKeys returns the keys that encrypt providers' keys. A named file must exist. Servers that share a
// database need the same file: without a named one they store no secrets, because the others could not read
// them.
func (p *process) secretKeys(cfg *conf.Config, in *conf.Invocation, shared bool) (directory.Sealer, error) {
	file, open := in.Flags["secrets"], keyset.Load
	if file == "" {
		file = p.Getenv(secretsEnv)
	}
	if file == "" && shared {
		return nil, nil //nolint:nilnil // without keys the directory refuses secrets
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

// checkedKeys returns the keys of a server's secrets. If they cannot decrypt the secrets in the database,
// the server was restored without its key file: it then does not start, and creates no other file.
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
