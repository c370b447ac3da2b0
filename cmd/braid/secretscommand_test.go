package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Keys are rotated while a server runs. Once its secrets are encrypted with the newest key, the old key can be
// removed, and not before.
func TestSecretKeysAreRotated(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "secret-keys.json")
	tell := func(code int, args ...string) string {
		t.Helper()
		p, out, errs := testProcess(t, nil, append([]string{"secrets"}, args...)...)
		if got := p.run(t.Context()); got != code {
			t.Fatalf("braid secrets %v ends with %d, want %d: %s", args, got, code, errs)
		}
		return out.String() + errs.String()
	}
	tell(0, "new", file)
	if said := tell(event.ErrNotFound.Info().Exit, "prune", "--data", data, file); !strings.Contains(said, "--data") {
		t.Errorf("where nothing is stored: %s", said)
	}
	keys, err := keyset.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.OpenSQLite(filepath.Join(data, serviceFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	server := directory.New(directory.Options{Database: db, Keys: keys})
	m := directory.Model{ID: "big", Provider: "demo", Name: "scripted"}
	m.Credential.Secret = secret.New("sk-planted")
	if m, err = server.CreateModel(t.Context(), directory.By{Operator: true}, m, ""); err != nil {
		t.Fatal(err)
	}
	tell(0, "rotate", file)
	if said := tell(event.ErrConflict.Info().Exit, "prune", "--data", data, file); !strings.Contains(said, "1 secrets") || !strings.Contains(said, "reencrypt") {
		t.Errorf("while the older key is needed: %s", said)
	}
	if said := tell(0, "reencrypt", "--data", data, file); !strings.Contains(said, "1 secrets were") {
		t.Errorf("it says %s", said)
	}
	if said := tell(0, "prune", "--data", data, file); !strings.Contains(said, "1 older keys") {
		t.Errorf("it says %s", said)
	}
	// The running server and a new one can both read it.
	for _, keys := range []*keyset.Keyset{keys, func() *keyset.Keyset { k, _ := keyset.Load(file); return k }()} {
		d := directory.New(directory.Options{Database: db, Keys: keys})
		if key, err := d.Credential(t.Context(), m); err != nil || key.Reveal() != "sk-planted" {
			t.Errorf("the key is not read: %v", err)
		}
	}
	tell(event.ErrInvalid.Info().Exit, "shred", file)
}
