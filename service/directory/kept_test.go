package directory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// denied is PostgreSQL's insufficient_privilege.
const denied = "42501"

// The role of the servers erases no audit: it is refused each statement that would, and what it can move away with an
// erased tenant is still there for the owner of the tables.
func TestTheServersRoleErasesNoAudit(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	d := open(t, databasetest.OpenPostgres(t, o))
	for _, id := range []string{"acme", "zeta"} {
		_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: id}, "")
		done(t, err)
		_, err = d.UpdateTenant(t.Context(), operator, id, 0, func(x *directory.Tenant) error { x.Status = directory.Inactive; return nil })
		done(t, err)
	}
	erased, err := d.EraseTenant(t.Context(), operator, "zeta")
	done(t, err)
	if erased.AuditEntries != 2 || erased.AuditKept != 2 {
		t.Errorf("the erasure says %+v", erased)
	}
	conn := databases.Login(t, databasetest.Guest, o)
	for _, statement := range []string{
		`DELETE FROM audit`, `DELETE FROM audit WHERE seq = 1`, `UPDATE audit SET detail = ''`, `UPDATE audit SET tenant = 'x'`, `TRUNCATE audit`,
		`DROP TABLE audit`, `ALTER TABLE audit DISABLE ROW LEVEL SECURITY`, `ALTER TABLE audit RENAME TO x`, `ALTER TABLE audit SET SCHEMA public`,
		`CREATE RULE r AS ON INSERT TO audit DO INSTEAD NOTHING`, `CREATE POLICY p ON audit USING (true)`,
		`CREATE TRIGGER t BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
		`MERGE INTO audit a USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE`,
		`INSERT INTO audit SELECT * FROM audit ON CONFLICT (tenant, seq) DO UPDATE SET detail = ''`,
		`DELETE FROM audit_erasure`, `UPDATE audit_erasure SET tenant = 'x'`, `TRUNCATE audit_erasure`, `DROP TABLE audit_erasure`,
		`INSERT INTO audit_erasure (tenant, at, entries, head) VALUES ('acme', 1, 1, '')`,
		`SELECT * FROM audit_kept`, `DELETE FROM audit_kept`, `UPDATE audit_kept SET detail = ''`, `TRUNCATE audit_kept`, `DROP TABLE audit_kept`,
		`INSERT INTO audit_kept SELECT 1, a.* FROM audit a`,
		`DROP SCHEMA "` + o.Schema + `" CASCADE`, `DROP FUNCTION erase_audit(text)`, `DROP DATABASE postgres`, `SET ROLE ` + databasetest.Owner,
		`SET SESSION AUTHORIZATION ` + databasetest.Owner, `DROP OWNED BY ` + databasetest.Owner, `REASSIGN OWNED BY ` + databasetest.Owner + ` TO ` + databasetest.Guest,
		`GRANT ` + databasetest.Owner + ` TO ` + databasetest.Guest, `ALTER ROLE ` + databasetest.Guest + ` BYPASSRLS`, `SET session_replication_role = replica`,
		`CREATE FUNCTION erase_audit(wanted varchar) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'`,
		`GRANT DELETE ON audit TO ` + databasetest.Guest, `SELECT erase_audit('zeta')`, `SELECT erase_audit('')`,
	} {
		_, err := conn.Exec(t.Context(), `SELECT set_config('braid.tenant', '=acme', false)`)
		done(t, err)
		_, err = conn.Exec(t.Context(), statement)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		// What is granted to nobody else is no error, and grants nothing.
		if strings.HasPrefix(statement, "GRANT DELETE") && err == nil {
			continue
		}
		if !ok || refused.Code != denied {
			t.Errorf("%s: %v, want %s", statement, err, denied)
		}
	}
	// The one thing that it may do: move the audit of an inactive tenant to the owner.
	_, err = conn.Exec(t.Context(), `SELECT erase_audit('acme')`)
	done(t, err)
	for _, id := range []string{"acme", "zeta", ""} {
		v, err := d.VerifyAudit(t.Context(), id)
		done(t, err)
		if want := map[string]int{"acme": 1, "": 1}[id]; len(v.Erased) != want {
			t.Errorf("the audit of %q is %+v", id, v)
		}
	}
	_, err = database.OpenOwner(t.Context(), o)
	if !errors.Is(err, event.ErrPermission) {
		t.Errorf("the servers' role opens it as the owner: %v", err)
	}
	owners := o
	owners.URL = databases.Server(t).URL(databasetest.Owner, "postgres")
	owner, err := database.OpenOwner(t.Context(), owners)
	done(t, err)
	defer owner.Close(t.Context())
	kept, err := directory.KeptAudits(t.Context(), owner)
	done(t, err)
	if len(kept) != 2 || kept[0].Tenant != "acme" || kept[0].Kept != 2 || kept[1].Tenant != "zeta" || kept[1].Kept != 2 || kept[1].Entries != 2 {
		t.Fatalf("kept is %+v", kept)
	}
	var actions []string
	done(t, directory.KeptEntries(t.Context(), owner, kept[1].ID, func(e directory.Entry) error {
		actions = append(actions, e.Tenant+" "+e.Action)
		return nil
	}))
	if got := strings.Join(actions, ", "); got != "zeta tenant.create, zeta tenant.update" {
		t.Errorf("the entries are %s", got)
	}
	// Another customer of the id sees nothing of it.
	_, err = d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "zeta"}, "")
	done(t, err)
	if entries, _, err := d.Audit(t.Context(), "zeta", directory.AuditQuery{}); err != nil || len(entries) != 1 {
		t.Errorf("the new tenant's audit is %+v, %v", entries, err)
	}
	for before, want := range map[time.Time]int64{time.Now().AddDate(0, 0, -1): 0, time.Now().AddDate(0, 0, 1): 4} {
		if n, err := directory.RemoveKeptAudits(t.Context(), owner, before); err != nil || n != want {
			t.Errorf("%d entries of before %v are removed, want %d: %v", n, before, want, err)
		}
	}
	if kept, err = directory.KeptAudits(t.Context(), owner); err != nil || len(kept) != 2 || kept[0].Kept != 0 {
		t.Errorf("kept is %+v, %v", kept, err)
	}
}
