package directory_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// manyTenants puts tenants up to the n-th with an agent, a model and a key each into the database, as
// rows: the way through the audit would take long.
func manyTenants(b *testing.B, db *database.DB, from, n int) {
	b.Helper()
	const each = 1000
	for i := from; i < n; i += each {
		end := min(i+each, n)
		done(b, db.Write(b.Context(), "fill", "", func(tx *database.Tx) error {
			for i := i; i < end; i++ {
				id := fmt.Sprint("tenant-", i)
				if err := tx.For(id); err != nil {
					return err
				}
				for statement, args := range map[string][]any{
					`INSERT INTO tenant (id, status, revision, created, updated, doc) VALUES (?, 'active', 1, 1, 1, '{}')`:                   {id},
					`INSERT INTO agent (tenant, id, status, version, revision, created, updated) VALUES (?, 'helper', 'active', 1, 1, 1, 1)`: {id},
					`INSERT INTO agent_version (tenant, agent, version, created, doc) VALUES (?, 'helper', 1, 1, '{}')`:                      {id},
					`INSERT INTO model (tenant, id, status, revision, created, updated, doc) VALUES (?, 'big', 'active', 1, 1, 1, '{}')`:     {id},
					`INSERT INTO model_name (tenant, name, model) VALUES (?, 'sonnet', 'big')`:                                               {id},
					`INSERT INTO api_key (tenant, id, hash, person, expires, revoked, revision, created, updated, doc)
						VALUES (?, ?, ?, '', 0, 0, 1, 1, 1, '{}')`: {id, fmt.Sprintf("%016d", i), []byte(id)},
				} {
					if _, err := tx.Exec(statement, args...); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
}

func benched(b *testing.B, run func(b *testing.B, db *database.DB)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { run(b, databasetest.OpenSQLite(b, "")) })
	if os.Getenv("BRAID_POSTGRES") != "" {
		b.Run("postgres", func(b *testing.B) { run(b, databasetest.OpenPostgres(b, databases.Postgres(b))) })
	}
}

// What a turn looks up, remembered and read, must not grow with the tenants.
func BenchmarkLookup(b *testing.B) {
	benched(b, func(b *testing.B, db *database.DB) {
		have := 0
		for _, n := range []int{10, 20_000} {
			manyTenants(b, db, have, n)
			have = n
			d := open(b, db)
			look := func(ctx context.Context) {
				if _, err := d.Tenant(ctx, "tenant-7"); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Agent(ctx, "tenant-7", "helper", 0); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Model(ctx, "tenant-7", "sonnet"); err != nil {
					b.Fatal(err)
				}
			}
			b.Run(fmt.Sprint("remembered/", n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					look(b.Context())
				}
			})
			b.Run(fmt.Sprint("read/", n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					directory.Forget(d)
					look(b.Context())
				}
			})
		}
	})
}

// A request that is refused costs next to nothing.
func BenchmarkRefused(b *testing.B) {
	benched(b, func(b *testing.B, db *database.DB) {
		manyTenants(b, db, 0, 1000)
		d := open(b, db)
		done(b, d.EnsureTenant(b.Context(), operator, directory.Tenant{ID: "idle"}))
		_, token, err := d.CreateKey(b.Context(), operator, directory.Key{Tenant: "idle", Scopes: directory.Scopes()[:1]}, "")
		done(b, err)
		_, err = d.UpdateTenant(b.Context(), operator, "idle", 0, func(t *directory.Tenant) error { t.Status = directory.Inactive; return nil })
		done(b, err)
		unknown := directory.KeyPrefix + strings.Repeat("a", 16) + "_" + strings.Repeat("a", 32)
		for name, token := range map[string]string{"garbage": "garbage", "unknown": unknown, "inactive": token.Reveal()} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Authenticate(b.Context(), token); err == nil {
						b.Fatal("it was let in")
					}
				}
			})
		}
		b.Run("another unknown one each time", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				token := fmt.Sprintf("%s%s_%s", directory.KeyPrefix, strings.Repeat("b", 16), letters(i))
				if _, err := d.Authenticate(b.Context(), token); err == nil {
					b.Fatal("it was let in")
				}
			}
		})
	})
}

func letters(n int) string {
	text := []byte(strings.Repeat("a", 32))
	for i := range 12 {
		text[i] = byte('a' + n%26)
		n /= 26
	}
	return string(text)
}
