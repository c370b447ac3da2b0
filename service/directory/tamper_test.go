package directory_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

var operator = directory.By{Operator: true}

func done(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
	}
}

// edited runs a test on a directory whose database somebody writes behind its back.
func edited(t *testing.T, run func(t *testing.T, d *directory.Directory, edit func(statement string))) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "service.db")
		d := open(t, databasetest.OpenSQLite(t, file))
		run(t, d, func(statement string) {
			t.Helper()
			db, err := sql.Open("sqlite", file)
			done(t, err)
			_, err = db.ExecContext(t.Context(), statement)
			done(t, errors.Join(err, db.Close()))
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		o := databases.Postgres(t)
		conn := databases.Login(t, postgrestest.Superuser, o)
		run(t, open(t, databasetest.OpenPostgres(t, o)), func(statement string) {
			t.Helper()
			_, err := conn.Exec(t.Context(), statement)
			done(t, err)
		})
	})
}

// An entry of an audit that was changed, taken out, added or moved is found.
func TestAnAuditThatWasTamperedWith(t *testing.T) {
	t.Parallel()
	edited(t, func(t *testing.T, d *directory.Directory, edit func(string)) {
		const change = ` WHERE tenant = 'acme' AND seq = `
		for i, c := range []struct {
			name  string
			edits []string
			// broken is the entry of five at which it is found.
			broken int64
		}{
			{"nothing", nil, 0},
			{"another person", []string{`UPDATE audit SET person = 'eve'` + change + `2`}, 2},
			{"another action", []string{`UPDATE audit SET action = 'agent.read'` + change + `3`}, 3},
			{"another detail", []string{`UPDATE audit SET detail = '{}'` + change + `4`}, 4},
			{"another time", []string{`UPDATE audit SET at = at + 1` + change + `5`}, 5},
			{"the operator's", []string{`UPDATE audit SET operator = NOT operator` + change + `2`}, 2},
			{"the first one gone", []string{`DELETE FROM audit` + change + `1`}, 1},
			{"one in the middle gone", []string{`DELETE FROM audit` + change + `3`}, 3},
			{"the last one gone", []string{`DELETE FROM audit` + change + `5`}, 5},
			{"all gone", []string{`DELETE FROM audit WHERE tenant = 'acme'`}, 1},
			{"one gone and the others moved up", []string{
				`DELETE FROM audit` + change + `2`, `UPDATE audit SET seq = 2` + change + `3`, `UPDATE audit SET seq = 3` + change + `4`,
				`UPDATE audit SET seq = 4` + change + `5`, `UPDATE audit_head SET seq = 4 WHERE tenant = 'acme'`,
			}, 2},
			{"two swapped", []string{
				`UPDATE audit SET seq = 99` + change + `2`, `UPDATE audit SET seq = 2` + change + `3`, `UPDATE audit SET seq = 3` + change + `99`,
			}, 2},
			{"one repeated", []string{
				`INSERT INTO audit SELECT tenant, 6, at, action, object, by_tenant, key, person, operator, detail, hash FROM audit` + change + `5`,
			}, 6},
			{"another tenant's", []string{
				`DELETE FROM audit` + change + `1`, `UPDATE audit SET tenant = 'acme' WHERE tenant = 'zeta' AND seq = 1`,
			}, 1},
			{"another end", []string{`UPDATE audit_head SET seq = 4 WHERE tenant = 'acme'`}, 5},
			{"no end", []string{`DELETE FROM audit_head WHERE tenant = 'acme'`}, 1},
		} {
			for _, id := range []string{"acme", "zeta"} {
				_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: id}, "")
				done(t, err)
				for n := range 4 {
					done(t, d.Record(t.Context(), directory.By{Tenant: id, User: "ann"}, id, "agent.update", fmt.Sprint("agent/", n), map[string]int{"n": n}))
				}
			}
			for _, statement := range c.edits {
				edit(statement)
			}
			v, err := d.VerifyAudit(t.Context(), "acme")
			done(t, err)
			want := int64(5)
			if c.broken > 0 {
				want = c.broken - 1
			}
			if v.Broken != c.broken || v.Entries != want {
				t.Errorf("%s: %+v, want it broken at %d", c.name, v, c.broken)
			}
			if v, err := d.VerifyAudit(t.Context(), ""); err != nil || v.Broken != 0 || v.Entries != int64(2*(i+1)) {
				t.Errorf("the operator's is %+v: %v", v, err)
			}
			for _, table := range []string{"audit", "audit_head"} {
				edit(`DELETE FROM ` + table + ` WHERE tenant <> ''`)
			}
			edit(`DELETE FROM tenant`)
		}
	})
}

// A key that is kept for a model cannot be read in another's place, and is nowhere to be found.
func TestAKeyIsBoundToItsModel(t *testing.T) {
	t.Parallel()
	const planted = "sk-planted-in-the-database-0123456789"
	dir := t.TempDir()
	file := filepath.Join(dir, "service.db")
	keys, err := keyset.Open(filepath.Join(dir, "keys.json"))
	done(t, err)
	db := databasetest.OpenSQLite(t, file)
	d := directory.New(directory.Options{Database: db, Keys: keys})
	for _, id := range []string{"acme", "evil"} {
		_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: id}, "")
		done(t, err)
		m := directory.Model{
			Tenant: id, ID: "big", Provider: "demo", Name: "x", Credential: directory.Credential{Secret: secret.New(planted + id)},
		}
		_, err = d.CreateModel(t.Context(), operator, m, "once")
		done(t, err)
	}
	_, token, err := d.CreateKey(t.Context(), operator, directory.Key{Tenant: "acme", Scopes: directory.Scopes()}, "")
	done(t, err)
	found, err := filepath.Glob(file + "*")
	done(t, err)
	for _, name := range found {
		data, err := os.ReadFile(name)
		done(t, err)
		for _, secret := range []string{planted, token.Reveal(), token.Reveal()[len(token.Reveal())-20:]} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds a secret in the clear", filepath.Base(name))
			}
		}
	}
	other, err := sql.Open("sqlite", file)
	done(t, err)
	_, err = other.ExecContext(t.Context(), `UPDATE model SET secret = (SELECT secret FROM model WHERE tenant = 'acme') WHERE tenant = 'evil'`)
	done(t, errors.Join(err, other.Close()))
	m, err := d.Model(t.Context(), "evil", "big")
	done(t, err)
	if key, err := d.Credential(t.Context(), m); event.KindOf(err) != event.ErrModelAuth {
		t.Errorf("evil has acme's key, %d letters long: %v", len(key.Reveal()), err)
	}
	m, err = d.Model(t.Context(), "acme", "big")
	done(t, err)
	if key, err := d.Credential(t.Context(), m); err != nil || key.Reveal() != planted+"acme" {
		t.Errorf("acme's own key: %v", err)
	}
	// Without keys nothing can be kept or read, and everything else goes on.
	d = directory.New(directory.Options{Database: db})
	if _, err := d.Credential(t.Context(), m); event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("without keys: %v", err)
	}
	_, err = d.UpdateModel(t.Context(), operator, "acme", "big", 0, func(m *directory.Model) error {
		m.Credential.Secret = secret.New("x")
		return nil
	})
	if event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("without keys: %v", err)
	}
}
