package postgres_test

import (
	"testing"

	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// BenchmarkUsageSums sums a million rows of one tenant in each way that a caller can. The limit is 0.3 s of processor time: a
// query has one process, so it takes no longer than that on an idle machine.
func BenchmarkUsageSums(b *testing.B) {
	server := server(b)
	o := migrated(b, server)
	as(b, server, postgrestest.Superuser, o, `SET braid.tenant = '=acme'`, journaltest.MillionOfUsage, `ANALYZE usage_logs, usage_days, usage_people`,
		`ALTER ROLE `+guest+` SET max_parallel_workers_per_gather = 0`)
	s := open(b, o)
	for _, c := range journaltest.SumsOfAMillion() {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				sums, err := s.UsageSums(b.Context(), c.Query, c.By, nil)
				if err != nil || len(sums) == 0 {
					b.Fatal(sums, err)
				}
			}
		})
	}
}
