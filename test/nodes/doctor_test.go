//go:build unix

package nodes

import (
	"encoding/json"
	"strings"
	"testing"
)

// braid doctor reports why a server cannot use a database, and changes nothing in it.
func TestDoctorLooksAtPostgres(t *testing.T) { //nolint:paralleltest // its processes come one after the other
	pg := needed(t)
	for _, c := range []struct {
		name string
		// empty leaves the database without tables. spoil are statements that the superuser then executes.
		empty bool
		spoil string
		// as is the doctor's role; "" is the servers' role.
		as    string
		args  []string
		level string
		text  string
	}{
		{name: "ready", level: "ok", text: "both schemas are up to date"},
		{name: "its connections", level: "ok", text: "a server takes up to 8"},
		{name: "too few connections", args: []string{"--postgres-connections", "1000"}, level: "warning", text: "a server takes up to 1000"},
		{name: "not migrated", empty: true, level: "broken", text: "no journal in the database"},
		{name: "the owner", as: owner, level: "broken", text: "past row-level security"},
		{name: "an older journal", spoil: `DELETE FROM braid.journal_version WHERE version_id > 5`, level: "broken", text: "older version"},
		{name: "a newer journal", spoil: `INSERT INTO braid.journal_version (version_id, is_applied) VALUES (999, true)`, level: "broken", text: "newer version"},
		{
			name: "an older database of the service", spoil: `DELETE FROM braid_service.service_version WHERE version_id > 1`,
			level: "broken", text: "older version",
		},
		{
			name: "row-level security that is off", spoil: `ALTER TABLE braid.run NO FORCE ROW LEVEL SECURITY`,
			level: "broken", text: "row-level security is not in force",
		},
		{
			name: "a role that could erase the audit", spoil: `GRANT DELETE ON braid_service.audit TO ` + server,
			level: "broken", text: "could erase the audit",
		},
		{
			name: "read only", level: "broken", text: "can only be read",
			spoil: `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := database(t, pg)
			if !c.empty {
				if out, code := command(t, []string{"BRAID_POSTGRES_URL=" + b.owner}, "migrate", "--role", server); code != 0 {
					t.Fatalf("braid migrate ended with %d: %s", code, out)
				}
			}
			if c.spoil != "" {
				if err := sql(t.Context(), pg, b.name, c.spoil); err != nil {
					t.Fatal(err)
				}
			}
			address := b.server
			if c.as == owner {
				address = b.owner
			}
			args := append([]string{"doctor", "--json", "--model", "demo", "--data", t.TempDir()}, c.args...)
			out, code := command(t, []string{"BRAID_POSTGRES_URL=" + address}, args...)
			var report struct {
				Findings []struct{ Check, Level, Text, Next string }
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "{") {
					if err := json.Unmarshal([]byte(line), &report); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
			}
			found := false
			for _, f := range report.Findings {
				found = found || f.Check == "database" && f.Level == c.level && strings.Contains(f.Text, c.text)
			}
			if !found {
				t.Errorf("it is not found: %s", out)
			}
			if (code != 0) != (c.level == "broken") {
				t.Errorf("the exit code is %d", code)
			}
			if strings.Contains(out, plantedPassword) || strings.Contains(out, plantedOwner) {
				t.Error("a password is shown")
			}
		})
	}
}
