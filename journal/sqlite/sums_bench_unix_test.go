//go:build unix

package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/sqlite"
)

// BenchmarkUsageSums sums a million rows of one tenant in each way that a caller can. The limit is 0.3 s of processor time.
// The rows stay in BRAID_BENCH_USAGE, if it is set, for the next time.
func BenchmarkUsageSums(b *testing.B) {
	folder := os.Getenv("BRAID_BENCH_USAGE")
	if folder == "" {
		folder = b.TempDir()
	}
	if _, err := os.Stat(filepath.Join(folder, "journal.db")); err != nil {
		shut(b, open(b, folder, sqlite.Options{}))
		addUsage(b, folder)
	}
	s := open(b, folder, sqlite.Options{})
	for _, c := range journaltest.SumsOfAMillion() {
		b.Run(c.Name, func(b *testing.B) {
			began := processorTime(b)
			for b.Loop() {
				sums, err := s.UsageSums(b.Context(), c.Query, c.By, nil)
				if err != nil || len(sums) == 0 {
					b.Fatal(sums, err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// addUsage writes the rows of [journaltest.FillUsage].
func addUsage(b *testing.B, folder string) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil || len(files) != 1 {
		b.Fatal(files, err)
	}
	db, err := sql.Open("sqlite", files[0])
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA synchronous = OFF", journaltest.MillionOfUsage} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
