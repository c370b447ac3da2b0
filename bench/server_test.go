package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/braidrun/braid/bench/scenario"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// inHere serves in the test's own process.
func inHere(ctx context.Context, s *scenario.Served, _ string) (*sideProcess, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serveSide(ctx, []string{string(raw)}, inRead, outWrite)
		_ = outWrite.CloseWithError(io.EOF)
		done <- err
	}()
	return talkTo(in, out, func() error { return <-done })
}

// Every side serves every kind of row and gives figures for it.
func TestServerRows(t *testing.T) {
	t.Parallel()
	sides := []string{scenario.SideFloor, scenario.SideTogether, scenario.SideSQLite, scenario.SideTenantsSQLite}
	for _, row := range []serverRow{
		{ID: "burst", Streams: 2, Rounds: 2, Deltas: 4, Sides: sides},
		{ID: "paced", Streams: 2, Rounds: 1, Deltas: 4, Every: time.Millisecond, Sides: []string{scenario.SideFloor, scenario.SideTenantsSQLite}},
	} {
		var rep report
		var at homes
		if err := row.measure(t.Context(), &rep, 1, &at, inHere, "", &progress{}); err != nil {
			t.Fatalf("%s: %v", row.ID, err)
		}
		if len(rep.Served) != len(row.Sides) {
			t.Fatalf("%s: %d sides", row.ID, len(rep.Served))
		}
		for i := range rep.Served {
			s := &rep.Served[i]
			if s.Row != row.ID || s.Side != row.Sides[i] || s.MicrosEach.Median <= 0 || s.Rate.Median <= 0 || s.FirstP99.Median <= 0 {
				t.Errorf("%+v", s)
			}
			if paced := row.Every > 0; paced != (s.HeldP50.Median > 0) || s.HeldP50.Median > s.HeldP99.Median {
				t.Errorf("%s, %s: on its way %v and %v ms", row.ID, s.Side, s.HeldP50, s.HeldP99)
			}
		}
	}
}

// Requests are refused as the row says, with and without keys.
func TestRefusedRows(t *testing.T) {
	t.Parallel()
	for _, r := range refusals(true) {
		if r.locked {
			continue // these take seconds
		}
		r.requests, r.at = 4, 2
		var at homes
		micros, err := r.pass(t.Context(), scenario.SideTenantsSQLite, &at, inHere, "")
		if err != nil || micros <= 0 {
			t.Errorf("%s: %v, %v", r.id, micros, err)
		}
		if r.status == 403 {
			continue // one row that is not refused is enough
		}
		r.status = 200
		if _, err := r.pass(t.Context(), scenario.SideTenantsSQLite, &at, inHere, ""); err == nil {
			t.Errorf("%s: an answer that is no refusal was counted", r.id)
		}
	}
}

// A crowd is created once and measured.
func TestCrowdRow(t *testing.T) {
	t.Parallel()
	var at homes
	var rep report
	row := crowdTurns()
	row.Streams, row.Rounds = 2, 2
	if err := row.crowd(t.Context(), &rep, scenario.SideTenantsSQLite, [2]int{1, 3}, 1, &at, inHere, &progress{}); err != nil {
		t.Fatal(err)
	}
	if len(rep.Served) != 2 || rep.Served[0].MicrosEach.Median <= 0 || rep.Served[1].Ratio.Median <= 0 {
		t.Errorf("%+v", rep.Served)
	}
	if took, err := logMessages(t.Context(), scenario.SideSQLite, &at, 20); err != nil || took <= 0 {
		t.Errorf("messages: %v, %v", took, err)
	}
}

// A side that this machine cannot run is reported and fails nothing.
func TestSidesAreSkipped(t *testing.T) {
	t.Parallel()
	at := homes{missing: postgrestest.ErrMissing}
	var rep report
	for _, row := range tenantRows() {
		if row.Sides[0] != scenario.SidePostgres {
			continue
		}
		err := row.measure(t.Context(), &rep, 1, &at, nil, "", &progress{})
		if !skipped(err) {
			t.Fatalf("%s: %v", row.ID, err)
		}
		rep.skip(row.ID, row.Sides[0], err)
	}
	table := rep.serverTable()
	if len(rep.Skipped) != 4 || len(table) != 5 || table[1][0] != "server-tenants-turn-50-postgres" {
		t.Errorf("%q", table)
	}
}

func TestSidesAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"{"}, {`{"side":"other"}`}, {"{}", "{}"}} {
		if err := serveSide(t.Context(), args, nil, io.Discard); err == nil {
			t.Errorf("%q was served", args)
		}
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var v []time.Duration
	for i := range 1000 {
		v = append(v, time.Duration(i)*time.Millisecond)
	}
	slices.Reverse(v)
	if p50, p99, above := percentiles(v, 900*time.Millisecond); p50 != 500 || p99 != 990 || above != 99 {
		t.Errorf("got %v, %v and %v", p50, p99, above)
	}
	if p50, p99, above := percentiles(nil, 0); p50+p99+above != 0 {
		t.Error("there is something of nothing")
	}
}

// Each promise over HTTP finds its figure.
func TestServerPromises(t *testing.T) {
	t.Parallel()
	rep := report{Ready: &ready{NewMS: spread{30, 40, 50}, BinaryMB: 26}}
	for _, row := range serverRows() {
		for _, side := range row.Sides {
			rep.Served = append(rep.Served, served{Row: row.ID, Side: side, MicrosEach: spread{1, 1.5, 2}, FirstP99: spread{200, 300, 500}, KiBEach: spread{40, 50, 60}})
		}
	}
	marks := map[mark]int{}
	for _, v := range rep.verdicts() {
		marks[v.Mark]++
	}
	if marks[markOver] != 1 || marks[markNear] != 1 || marks[markOverAim] != 0 || len(rep.Verdicts) != 0 {
		t.Errorf("marks %v", marks)
	}
	if got := len(rep.serverTable()); got != 1+len(rep.Served) {
		t.Errorf("the table has %d lines", got)
	}
}
