package directory_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// A stored key belongs to one life of its model: put back into the row of another model that has the id by now, it is
// not decrypted. Keys of before lives were bound are, and are bound when secrets are encrypted anew.
func TestKeysAreBoundToTheirModelsLife(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		ctx, operator := t.Context(), directory.By{Operator: true}
		keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
		if err != nil {
			t.Fatal(err)
		}
		d := directory.New(directory.Options{Database: db, Keys: keys})
		t.Cleanup(func() { _ = d.Close() })
		if _, err := d.CreateTenant(ctx, operator, directory.Tenant{ID: "acme"}, ""); err != nil {
			t.Fatal(err)
		}
		create := func(key string) {
			t.Helper()
			m := directory.Model{Tenant: "acme", ID: "main", Provider: "anthropic", Name: "claude"}
			m.Credential.Secret = secret.New(key)
			if _, err := d.CreateModel(ctx, operator, m, ""); err != nil {
				t.Fatal(err)
			}
		}
		column := func(set []byte) (stored []byte) {
			t.Helper()
			err := db.Write(ctx, "column", "acme", func(tx *database.Tx) error {
				if set != nil {
					_, err := tx.Exec(`UPDATE model SET secret = ? WHERE tenant = ? AND id = ?`, set, "acme", "main")
					return err
				}
				_, err := tx.Get(`SELECT secret FROM model WHERE tenant = ? AND id = ?`, []any{"acme", "main"}, &stored)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			d.Drop() // what it remembers of the row
			return stored
		}
		wants := func(why, want string) {
			t.Helper()
			m, err := d.GetModel(ctx, "acme", "main")
			if err != nil {
				t.Fatal(err)
			}
			key, err := d.Credential(ctx, m)
			if key.Reveal() != want || (want == "") != errors.Is(err, event.ErrModelAuth) {
				t.Errorf("%s: %q %v", why, key.Reveal(), err)
			}
		}
		create("sk-of-the-first-model")
		first := column(nil)
		wants("the first model", "sk-of-the-first-model")
		if err := d.DeleteModel(ctx, operator, "acme", "main", 0); err != nil {
			t.Fatal(err)
		}
		create("sk-of-the-second-model")
		second := column(nil)
		wants("the second model", "sk-of-the-second-model")
		column(first)
		wants("the first one's key in the second one's row", "")

		old, err := keys.Seal([]byte("sk-of-an-earlier-version"), []byte("acme|model|main|secret"))
		if err != nil {
			t.Fatal(err)
		}
		column(old)
		wants("a key of an earlier version", "sk-of-an-earlier-version")
		if r, err := d.OldSecrets(ctx); err != nil || r.Done != 1 {
			t.Errorf("%+v %v", r, err)
		}
		if r, err := d.Reencrypt(ctx, operator); err != nil || r.Done != 1 {
			t.Errorf("%+v %v", r, err)
		}
		wants("encrypted anew", "sk-of-an-earlier-version")
		bound := column(nil)
		if err := d.DeleteModel(ctx, operator, "acme", "main", 0); err != nil {
			t.Fatal(err)
		}
		create("sk-of-the-third-model")
		column(bound)
		wants("what was encrypted anew in a later model's row", "")
		column(second)
		wants("the second one's key in the third one's row", "")
	})
}
