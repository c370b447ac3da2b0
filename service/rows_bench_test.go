package service_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
)

// What a turn does to a conversation's row, and a page of the list, must cost the same however many
// conversations there are.
func BenchmarkRows(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchRows(b, databasetest.OpenSQLite(b, "")) })
	if os.Getenv("BRAID_POSTGRES") != "" {
		b.Run("postgres", func(b *testing.B) { benchRows(b, databasetest.OpenPostgres(b, databases.Postgres(b))) })
	}
}

func benchRows(b *testing.B, db *database.DB) {
	b.Helper()
	rows, at := service.NewRows(db), time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	fatal := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	have := 0
	for _, n := range []int{10, 100_000} {
		fatal(db.Write(b.Context(), "fill", "acme", func(tx *database.Tx) error {
			for i := have; i < n; i++ {
				us := at.Add(time.Duration(i) * time.Second).UnixMicro()
				if _, err := tx.Exec(`INSERT INTO conversation (tenant, id, person, title, archived, since, agent, agent_version, origin, at, created, updated)
					VALUES ('acme', ?, 'ann', 'A title', ?, 0, '', 0, '', 0, ?, ?)`, fmt.Sprint("conv_", i), false, us, us); err != nil {
					return err
				}
			}
			return nil
		}))
		have = n
		for name, do := range map[string]func(ctx context.Context) error{
			"get": func(ctx context.Context) error {
				_, err := rows.Get(ctx, "acme", "conv_7")
				return err
			},
			"change": func(ctx context.Context) error {
				_, err := rows.Change(ctx, "acme", "conv_7", func(r *service.Row) error { r.Updated = r.Updated.Add(time.Microsecond); return nil })
				return err
			},
			"page": func(ctx context.Context) error {
				_, err := rows.List(ctx, "acme", service.Query{Limit: 5, Created: at.Add(8 * time.Second), ID: "conv_8"})
				return err
			},
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					fatal(do(b.Context()))
				}
			})
		}
	}
}
