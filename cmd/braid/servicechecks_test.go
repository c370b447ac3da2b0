package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/mcptool"
)

// servedFolder returns a data folder of a server: its database has a model with an encrypted key, and one with a key in a
// variable.
func servedFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	p, _, _ := testProcess(t, nil)
	store, err := p.openStore(&conf.Config{Settings: conf.Settings{StoreSettings: conf.StoreSettings{Data: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := database.OpenSQLite(filepath.Join(dir, serviceFile))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(dir, secretsFile))
	if err != nil {
		t.Fatal(err)
	}
	people := directory.New(directory.Options{Database: db, Keys: keys})
	by := directory.By{Operator: true}
	if _, err := people.CreateTenant(t.Context(), by, directory.Tenant{ID: "acme"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, m := range []directory.Model{
		{ID: "sealed", Provider: "openai", Name: "gpt-5.4", Credential: directory.Credential{Secret: secret.New("sk-of-a-provider")}},
		{Tenant: "acme", ID: "named", Provider: "openai", Name: "gpt-5.4", Credential: directory.Credential{Env: "ACME_KEY"}},
	} {
		if _, err := people.CreateModel(t.Context(), by, m, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := people.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mcpFile writes a list with one MCP server, a program.
func mcpFile(t *testing.T, command string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"shop": map[string]any{"command": command}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The doctor finds missing databases, keys, credentials of models and MCP servers, and changes nothing.
func TestDoctorLooksAtAServer(t *testing.T) {
	t.Parallel()
	written := func(text string, mode os.FileMode) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	version := func(n string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			t.Helper()
			db, err := database.OpenSQLite(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Write(t.Context(), "test", "", func(tx *database.Tx) error {
				_, err := tx.Exec(`PRAGMA user_version = ` + n)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		// file is the file in the data folder that spoil damages.
		file  string
		spoil func(t *testing.T, file string)
		env   map[string]string
		args  []string
		check string
		level level
		text  string
		kind  event.ErrorKind
	}{
		{name: "a server's folder", env: map[string]string{"ACME_KEY": "x"}, check: "database", level: levelOK, text: "schema is up to date"},
		{name: "keys that open", check: "database", level: levelOK, text: "opens what is stored"},
		{name: "credentials that are set", env: map[string]string{"ACME_KEY": "x"}, check: "database", level: levelOK, text: "credentials of the directory's models are set"},
		{name: "a variable that is not set", check: "database", level: levelWarning, text: "the model named of the tenant acme needs the variable ACME_KEY"},
		{
			name: "no keys", file: secretsFile, spoil: func(_ *testing.T, file string) { _ = os.Remove(file) },
			check: "database", level: levelBroken, text: "encrypted with another key file", kind: event.ErrInvalid,
		},
		{
			name: "other keys", file: secretsFile, spoil: func(t *testing.T, file string) {
				_ = os.Remove(file)
				if _, err := keyset.Open(file); err != nil {
					t.Fatal(err)
				}
			}, check: "database", level: levelBroken, text: "encrypted with another key file", kind: event.ErrInvalid,
		},
		{
			name: "keys that everybody reads", file: secretsFile, spoil: func(t *testing.T, file string) {
				if err := os.Chmod(file, 0o644); err != nil {
					t.Fatal(err)
				}
			}, check: "database", level: levelBroken, text: "", kind: event.ErrPermission,
		},
		{
			name: "no file of keys", file: secretsFile, spoil: written("no keys", 0o600),
			check: "database", level: levelBroken, text: "keys", kind: event.ErrInvalid,
		},
		{
			name: "named keys that are not there", args: []string{"--secrets", "nowhere.json"},
			check: "database", level: levelBroken, text: "keys", kind: event.ErrNotFound,
		},
		{
			name: "a newer database", file: serviceFile, spoil: version("999"),
			check: "database", level: levelBroken, text: "newer version", kind: event.ErrNewer,
		},
		{
			name: "an older database", file: serviceFile, spoil: version("3"),
			check: "database", level: levelBroken, text: "older version", kind: event.ErrUnsupported,
		},
		{
			name: "no database", file: serviceFile, spoil: written(strings.Repeat("no database ", 1000), 0o600),
			check: "database", level: levelBroken, text: "", kind: event.ErrInvalid,
		},
		{
			name: "a lost journal", file: journalFile, spoil: func(_ *testing.T, file string) {
				for _, suffix := range []string{"", "-wal", "-shm"} {
					_ = os.Remove(file + suffix)
				}
			}, check: "database", level: levelOK, text: "schema is up to date",
		},
		{
			name: "two addresses", args: []string{"--postgres", "postgres://a@localhost/b", "--postgres-file", "x"},
			check: "database", level: levelBroken, text: "both given", kind: event.ErrInvalid,
		},
		{
			name: "an address that is none", env: map[string]string{postgresEnv: "postgres://a b:c@[/"},
			check: "database", level: levelBroken, text: "", kind: event.ErrInvalid,
		},
		{
			name: "nobody at the address", env: map[string]string{postgresEnv: "postgres://role:sk-hidden-password@127.0.0.1:1/db"},
			check: "database", level: levelBroken, text: "", kind: event.ErrUnavailable,
		},
		{
			name: "no number of connections", env: map[string]string{postgresEnv: "postgres://role@127.0.0.1:1/db"}, args: []string{"--postgres-connections", "1"},
			check: "database", level: levelBroken, text: "--postgres-connections", kind: event.ErrInvalid,
		},
		{name: "no MCP servers", check: "mcp", level: levelOK, text: "no MCP servers"},
		{name: "no list of MCP servers", args: []string{"--mcp", "nowhere.json"}, check: "mcp", level: levelBroken, text: "cannot be read", kind: event.ErrInvalid},
		{
			name: "an MCP server that does not start", args: []string{"--mcp", mcpFile(t, "/nowhere/shop")},
			check: "mcp", level: levelBroken, text: "the MCP server shop cannot be used", kind: event.ErrNotFound,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := servedFolder(t)
			if c.spoil != nil {
				c.spoil(t, filepath.Join(dir, c.file))
			}
			p, out, errs := testProcess(t, c.env)
			r, code := examine(t, p, out, append([]string{"--data", dir, "--model", "demo"}, c.args...)...)
			for _, f := range r.Findings {
				if f.Check == c.check && f.Level == c.level && strings.Contains(f.Text, c.text) && f.Kind == c.kind {
					if f.Level != levelOK && f.Next == "" {
						t.Errorf("no next step: %+v", f)
					}
					if f.Level == levelBroken && code == 0 {
						t.Error("the exit code is 0")
					}
					if all := out.String() + errs.String(); strings.Contains(all, "sk-hidden-password") || strings.Contains(all, "sk-of-a-provider") {
						t.Error("a secret is shown")
					}
					return
				}
			}
			t.Errorf("it is not found; there is %+v", r.Findings)
		})
	}
}

// The doctor lists MCP tools that are left out, and reports too few database connections.
func TestDoctorWarns(t *testing.T) {
	t.Parallel()
	d := &diagnosis{check: "mcp"}
	s := mcptool.Status{Name: "shop"}
	for i := range 8 {
		s.Skipped = append(s.Skipped, mcptool.Skipped{Tool: fmt.Sprint("t", i), Why: "its schema never ends"})
	}
	s.Skipped[1].Tool = ""
	d.lookAtSkipped(&s)
	if len(d.findings) != mostSkipped+1 || d.findings[0].Text != "the tool t0 of the MCP server shop is left out: its schema never ends" ||
		!strings.HasPrefix(d.findings[1].Text, "the rest of the tools") || !strings.HasPrefix(d.findings[mostSkipped].Text, "3 more tools") {
		t.Errorf("the findings are %+v", d.findings)
	}
	for _, c := range []struct {
		used int
		want level
	}{{0, levelOK}, {89, levelOK}, {90, levelWarning}, {97, levelWarning}, {100, levelWarning}} {
		d := &diagnosis{}
		d.lookAtConnections(&postgres.Server{Most: 100, Reserved: 3, Used: c.used}, 8)
		if len(d.findings) != 1 || d.findings[0].Level != c.want || strings.Contains(d.findings[0].Text, "-") && c.want == levelOK {
			t.Errorf("%d used: %+v", c.used, d.findings)
		}
	}
}
