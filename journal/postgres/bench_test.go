package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// BenchmarkCommit measures durable commits of one event of 1 KiB by several drivers. Its floor is
// bare INSERTs of as many bytes over as many connections, also durable. They take turns, and
// "x-floor" is the ratio of their medians: on a shared disk each varies more than the two differ.
func BenchmarkCommit(b *testing.B) {
	server(b)
	mine, err := postgrestest.New(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := mine.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := roles(b.Context(), mine); err != nil {
		b.Fatal(err)
	}
	for _, drivers := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(drivers, " drivers"), func(b *testing.B) {
			floor := bare(b, mine, drivers)
			commit := durable(b, mine, drivers)
			const each = 20
			var floors, times []time.Duration
			pass := func(do func(driver int)) time.Duration {
				from := time.Now()
				var wg sync.WaitGroup
				for d := range drivers {
					wg.Go(func() {
						for range each {
							do(d)
						}
					})
				}
				wg.Wait()
				return time.Since(from)
			}
			pass(floor)
			pass(commit)
			for b.Loop() {
				floors = append(floors, pass(floor))
				times = append(times, pass(commit))
			}
			slices.Sort(floors)
			slices.Sort(times)
			f, m := floors[len(floors)/2], times[len(times)/2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(drivers*each)/f.Seconds(), "inserts/s")
			b.ReportMetric(float64(drivers*each)/m.Seconds(), "commits/s")
			b.ReportMetric(m.Seconds()/f.Seconds(), "x-floor")
		})
	}
}

// bare returns the floor.
func bare(b *testing.B, s *postgrestest.Server, connections int) func(int) {
	b.Helper()
	config, err := pgxpool.ParseConfig(s.URL(owner, "postgres"))
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = int32(min(connections, 64))
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	table := fmt.Sprint("public.bare_", schemas.Add(1))
	as(b, s, postgrestest.Superuser, migrated(b, s),
		`CREATE TABLE `+table+` (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b bytea)`, `GRANT ALL ON `+table+` TO `+owner)
	bytes, insert := []byte(strings.Repeat("x", 1024)), `INSERT INTO `+table+` (b) VALUES ($1)`
	return func(int) {
		if _, err := pool.Exec(context.Background(), insert, bytes); err != nil {
			b.Error(err)
		}
	}
}

// durable returns a commit of the store. Each driver has a conversation.
func durable(b *testing.B, s *postgrestest.Server, drivers int) func(int) {
	b.Helper()
	o := migrated(b, s)
	o.Connections = drivers
	store := open(b, o)
	leases, seqs := make([]journal.Lease, drivers), make([]int64, drivers)
	for d := range drivers {
		opened, err := store.Start(b.Context(), journal.Run{ID: fmt.Sprint(d), Conversation: fmt.Sprint(d), Tenant: "acme"}, 0)
		if err != nil {
			b.Fatal(err)
		}
		leases[d] = opened.Lease
	}
	text := []event.Block{&event.Text{Text: strings.Repeat("x", 900)}}
	return func(d int) {
		seqs[d]++
		err := store.Commit(context.Background(), leases[d], journal.Batch{Events: []*event.Event{{
			Header: event.Header{Seq: seqs[d], Conversation: leases[d].Conversation, Run: leases[d].Run},
			Body:   &event.UserMessage{Content: text},
		}}})
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkTurn measures a turn without tools: it begins at once, and has two commits.
func BenchmarkTurn(b *testing.B) {
	s := open(b, migrated(b, server(b)))
	var last int64
	n := 0
	for b.Loop() {
		n++
		opened, err := s.Start(b.Context(), journal.Run{ID: fmt.Sprint(n), Conversation: "talk", Tenant: "acme"}, last)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Commit(b.Context(), opened.Lease, note(opened.Lease, last+1, "begins")); err != nil {
			b.Fatal(err)
		}
		if err := s.Commit(b.Context(), opened.Lease, ending(opened.Lease, last+2)); err != nil {
			b.Fatal(err)
		}
		last += 2
	}
}
