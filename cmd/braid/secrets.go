package main

import (
	"path/filepath"

	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/directory"
)

// secretsEnv names the file with the keys that secrets are encrypted with.
const secretsEnv = envPrefix + "SECRETS"

// secretsFile is where the data folder keeps them where no other file is named.
const secretsFile = "keys.json"

// secretKeys are what the server encrypts providers' keys with. A file that somebody names must be
// there. Servers that share a database all need the same one: where none is named they keep no
// secrets, since what one of them had made by itself the others could not read.
func (p *process) secretKeys(cfg *config, in *invocation, shared bool) (directory.Sealer, error) {
	file, open := in.flags["secrets"], keyset.Load
	if file == "" {
		file = p.getenv(secretsEnv)
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
