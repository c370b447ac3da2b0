package directory_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// Whoever has the password of the servers' role erases no audit unnoticed, whatever is done to the tenant
// before and after.
func TestTheServersRoleErasesNoAuditUnnoticed(t *testing.T) {
	t.Parallel()
	const (
		idle   = `UPDATE tenant SET status = 'inactive' WHERE id = 'acme'`
		erase  = `SELECT erase_audit('acme')`
		create = `INSERT INTO tenant (id, life, status, revision, created, updated, doc) VALUES ('acme', 'LIFE', 'active', 1, 1, 1, '{}')`
		begin  = `INSERT INTO audit_head (tenant, seq, hash) VALUES ('acme', 0, '')`
	)
	for name, script := range map[string][]string{
		"erase":                            {idle, erase},
		"erase and make it again":          {idle, erase, create, begin},
		"in another life":                  {idle, erase, strings.Replace(create, "LIFE", "another", 1), begin},
		"another end before":               {`UPDATE audit_head SET seq = 0, hash = ''`, idle, erase, create, begin},
		"another last entry before":        {`INSERT INTO audit SELECT tenant, 99, at, '', '', '', '', '', false, '', '' FROM audit LIMIT 1`, idle, erase, create},
		"twice":                            {idle, erase, create, strings.Replace(idle, "inactive", "x", 1), begin, idle, `DELETE FROM tenant`, create},
		"as the operator's own afterwards": {idle, erase, `SELECT set_config('braid.tenant', '=', true)`, `UPDATE audit_head SET tenant = tenant`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := databases.Postgres(t)
			d := open(t, databasetest.OpenPostgres(t, o))
			created, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme"}, "")
			done(t, err)
			before, err := d.VerifyAudit(t.Context(), "acme")
			done(t, err)
			if !before.OK() || before.Entries != 1 {
				t.Fatalf("before it is %+v", before)
			}
			conn := databases.Login(t, databasetest.Guest, o)
			done(t, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				for _, statement := range append([]string{`SELECT set_config('braid.tenant', '=acme', true)`}, script...) {
					if _, err := tx.Exec(t.Context(), strings.ReplaceAll(statement, "LIFE", created.Life)); err != nil {
						return err
					}
				}
				return nil
			}))
			for _, tenant := range []string{"acme", ""} {
				v, err := d.VerifyAudit(t.Context(), tenant)
				done(t, err)
				if v.OK() || len(v.Erased) != 1 || v.Erased[0].Tenant != "acme" || v.Erased[0].Entries == 0 {
					t.Errorf("the audit of %q is %+v", tenant, v)
				}
			}
			// What the operator erases is told apart from it.
			_, err = d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "zeta", Status: directory.Inactive}, "")
			done(t, err)
			_, err = d.EraseTenant(t.Context(), operator, "zeta")
			done(t, err)
			if v, err := d.VerifyAudit(t.Context(), ""); err != nil || len(v.Erased) != 1 {
				t.Errorf("after an erasure by the operator: %+v, %v", v, err)
			}
		})
	}
}

// A file has no role that is not its owner's: what was erased without the tenant is noticed as long as
// nobody removes the record of it, too.
func TestAnErasedAuditOfAFile(t *testing.T) {
	t.Parallel()
	edited(t, func(t *testing.T, d *directory.Directory, edit func(string)) {
		_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme", Status: directory.Inactive}, "")
		done(t, err)
		_, err = d.EraseTenant(t.Context(), operator, "acme")
		done(t, err)
		for _, tenant := range []string{"acme", ""} {
			if v, err := d.VerifyAudit(t.Context(), tenant); err != nil || !v.OK() {
				t.Errorf("after an erasure, %q is %+v, %v", tenant, v, err)
			}
		}
		edit(`UPDATE audit_erasure SET head = (SELECT hash FROM audit ORDER BY seq LIMIT 1)`)
		for _, tenant := range []string{"acme", ""} {
			if v, err := d.VerifyAudit(t.Context(), tenant); err != nil || v.OK() {
				t.Errorf("with another record, %q is %+v, %v", tenant, v, err)
			}
		}
	})
}
