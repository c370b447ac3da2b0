package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// serverRow is one load on a server.
type serverRow struct {
	ID, Name string
	// Streams is the number of concurrent readers.
	Streams int
	// Every is the time between two deltas; 0 means none. Rounds is the number of consecutive runs of each reader,
	// each in a new conversation. With 0 each reader begins one run, whose model is silent after its first piece.
	Every  time.Duration
	Rounds int
	// Deltas is the number of pieces of a run.
	Deltas int
	Sides  []string
	// long rows are not in the short form.
	long bool
	// asked rows are measured only if named. They are compared with their first side, the server without tenants.
	asked bool
}

func serverRows() []serverRow {
	burst := []string{scenario.SideFloor, scenario.SideTogether, scenario.SideServe}
	plain := []string{scenario.SideFloor, scenario.SideServe}
	return append([]serverRow{
		{ID: "server-burst-1", Name: "burst, 1 stream", Streams: 1, Rounds: 100, Deltas: 200, Sides: burst},
		{ID: "server-burst-50", Name: "burst, 50 streams", Streams: 50, Rounds: 10, Deltas: 200, Sides: burst, long: true},
		{ID: "server-burst-500", Name: "burst, 500 streams", Streams: 500, Rounds: 4, Deltas: 200, Sides: burst},
		{
			ID: "server-burst-1000-pieces", Name: "burst, 50 streams of 1000 pieces", Streams: 50, Rounds: 4, Deltas: 1000,
			Sides: burst, long: true,
		},
		{
			ID: "server-paced-500", Name: "paced, 500 streams, 20 ms", Streams: 500, Rounds: 1, Deltas: 200,
			Every: 20 * time.Millisecond, Sides: plain,
		},
		{ID: "server-waiting-500", Name: "500 runs wait for their model", Streams: 500, Deltas: 200, Sides: plain},
		{ID: "server-waiting-5000", Name: "5000 runs wait for their model", Streams: 5000, Deltas: 200, Sides: plain, long: true},
	}, tenantRows()...)
}

// tenantRows measure the cost of authentication, tenants and logs: the same load on the same store, without and with
// them.
func tenantRows() (rows []serverRow) {
	for _, store := range []struct {
		behind, name string
		sides        []string
	}{
		{"", "sqlite", []string{scenario.SideSQLite, scenario.SideTenantsSQLite}},
		{"-postgres", "postgres", []string{scenario.SidePostgres, scenario.SideTenantsPostgres}},
	} {
		for _, row := range []serverRow{
			{ID: "server-tenants-turn-50", Name: "tenants, a turn, 50 streams", Streams: 50, Rounds: 20, Deltas: 1},
			{ID: "server-tenants-burst-500", Name: "tenants, burst, 500 streams", Streams: 500, Rounds: 4, Deltas: 200},
			{
				ID: "server-tenants-paced-500", Name: "tenants, paced, 500 streams, 20 ms", Streams: 500, Rounds: 1, Deltas: 200,
				Every: 20 * time.Millisecond,
			},
			{ID: "server-tenants-waiting-500", Name: "tenants, 500 runs wait for their model", Streams: 500, Deltas: 200},
		} {
			row.ID, row.Name, row.Sides, row.asked = row.ID+store.behind, row.Name+", "+store.name, store.sides, true
			rows = append(rows, row)
		}
	}
	return rows
}

// served holds the measurements of one side of a row, with one figure per pass.
type served struct {
	Row  string `json:"row"`
	Name string `json:"name"`
	Side string `json:"side"`
	// MicrosEach is the server's processor time per delta.
	MicrosEach spread `json:"cpu_micros_a_delta,omitzero"`
	// Ratio is that time divided by the first side's in the same pass. The first side is the floor, or the server
	// without tenants. For waiting runs it is the ratio of the memory per run.
	Ratio spread `json:"ratio,omitzero"`
	// FirstRatio is FirstP99 divided by the first side's, if that is a server.
	FirstRatio spread `json:"first_p99_ratio,omitzero"`
	// Cores is the number of cores that the server used.
	Cores spread `json:"cores,omitzero"`
	// Rate is the number of deltas read per second.
	Rate spread `json:"deltas_a_second,omitzero"`
	// FirstP50 and FirstP99 are the times in milliseconds to the first delta.
	FirstP50 spread `json:"first_ms_p50,omitzero"`
	FirstP99 spread `json:"first_ms_p99,omitzero"`
	// HeldP50 and HeldP99 are how late, in milliseconds, paced deltas arrive, relative to the earliest of the answer.
	// Late is how many of 1000 are more than 2 ms late.
	HeldP50 spread `json:"held_ms_p50,omitzero"`
	HeldP99 spread `json:"held_ms_p99,omitzero"`
	Late    spread `json:"late_in_1000,omitzero"`
	// Merged is how many of 1000 deltas were merged with others, because their reader was late or slow.
	Merged spread `json:"merged_in_1000,omitzero"`
	// HeldOver is HeldP99 minus the floor's in the same pass.
	HeldOver spread `json:"held_ms_p99_over_floor,omitzero"`
	// KiBEach is the server's resident memory per waiting run, MiB its total, and IdleCores the processor use of
	// waiting runs.
	KiBEach   spread `json:"kib_a_run,omitzero"`
	MiB       spread `json:"rss_mib,omitzero"`
	IdleCores spread `json:"idle_cores,omitzero"`
	// TookMS is the duration in milliseconds of a row that is a single operation.
	TookMS spread `json:"took_ms,omitzero"`
	// Syncs is how often the server waits for the disk in a first run.
	Syncs spread `json:"fsyncs_a_run,omitzero"`
}

// pass holds the measurements of one side in one pass.
type pass struct {
	micros, cores, rate, first50, first99, held50, held99, late, merged, kib, mib, idle float64
}

// sideProcess is a process that serves a side.
type sideProcess struct {
	addr string
	// token is the side's credential, and pid the serving process.
	token string
	pid   int
	stats func() (sideStat, error)
	end   func() error
}

// beginSide starts a server. In the bench it is a separate process, pinned to a core.
type beginSide func(ctx context.Context, s *scenario.Served, profile string) (*sideProcess, error)

// ownProcess serves in another process: the built command, or this program again.
func (c *command) ownProcess(ctx context.Context, s *scenario.Served, profile string) (*sideProcess, error) {
	if s.Side == scenario.SideServe {
		return c.serve(ctx, s)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(struct {
		*scenario.Served

		Profile string `json:"profile"`
	}{s, profile})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, serverSide, string(spec)) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	undo, err := pinned(cmd.Start)
	if err != nil {
		return nil, err
	}
	return talkTo(in, out, func() error {
		defer undo()
		return cmd.Wait()
	})
}

// talkTo reads the address of a serving process and connects to its figures.
func talkTo(in io.WriteCloser, out io.Reader, wait func() error) (*sideProcess, error) {
	lines := bufio.NewReader(out)
	p := &sideProcess{
		token: scenario.ServedToken,
		stats: func() (s sideStat, err error) {
			if _, err := io.WriteString(in, "\n"); err != nil {
				return s, err
			}
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return s, err
			}
			return s, json.Unmarshal(line, &s)
		},
		end: func() error { return errors.Join(in.Close(), wait()) },
	}
	line, err := lines.ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	p.addr = line[:len(line)-1]
	if _, _, err := net.SplitHostPort(p.addr); err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// timeServer measures the rows over HTTP.
func timeServer(ctx context.Context, opt *options, rep *report, pl plan, c *command, show *progress) (err error) {
	var at homes
	ownProcess := c.ownProcess
	defer func() { err = errors.Join(err, at.close()) }()
	for _, row := range serverRows() {
		if !opt.wants(row.ID) || (row.long && opt.short || row.asked) && len(opt.only) == 0 {
			continue
		}
		if err := row.measure(ctx, rep, pl.Server, &at, ownProcess, opt.profile, show); skipped(err) {
			rep.skip(row.ID, row.Sides[0], err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", row.ID, err)
		}
	}
	if err := timeSyncs(ctx, opt, rep, pl, &at, ownProcess, show); err != nil {
		return err
	}
	if err := timeRefused(ctx, opt, rep, pl, &at, ownProcess, show); err != nil {
		return err
	}
	if err := timeCrowd(ctx, opt, rep, pl, &at, ownProcess, show); err != nil {
		return err
	}
	return timeMessages(ctx, opt, rep, pl, &at, show)
}

// measure measures all sides in each pass.
func (row *serverRow) measure(ctx context.Context, rep *report, passes int, at *homes, begin beginSide, profile string, show *progress) error {
	all := make([][]pass, len(row.Sides))
	for n := range passes {
		for i, side := range row.Sides {
			show.say("pass %d of %d: %s, %s", n+1, passes, row.ID, side)
			file, err := profileOf(profile, row.ID, i, n)
			if err != nil {
				return err
			}
			p, err := row.fresh(ctx, side, at, begin, file)
			if err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
			all[i] = append(all[i], p)
		}
	}
	for i, side := range row.Sides {
		of := func(figure func(*pass) float64) spread {
			var v []float64
			for k := range all[i] {
				v = append(v, figure(&all[i][k]))
			}
			return spreadOf(v)
		}
		s := served{
			Row: row.ID, Name: row.Name, Side: side,
			MicrosEach: of(func(p *pass) float64 { return p.micros }), Cores: of(func(p *pass) float64 { return p.cores }),
			Rate:     of(func(p *pass) float64 { return p.rate }),
			FirstP50: of(func(p *pass) float64 { return p.first50 }), FirstP99: of(func(p *pass) float64 { return p.first99 }),
			HeldP50: of(func(p *pass) float64 { return p.held50 }), HeldP99: of(func(p *pass) float64 { return p.held99 }),
			Late: of(func(p *pass) float64 { return p.late }), Merged: of(func(p *pass) float64 { return p.merged }),
			KiBEach: of(func(p *pass) float64 { return p.kib }), MiB: of(func(p *pass) float64 { return p.mib }),
			IdleCores: of(func(p *pass) float64 { return p.idle }),
		}
		var ratios, over, firsts []float64
		for k := range all[i] {
			first := &all[0][k]
			switch {
			case first.micros > 0:
				ratios = append(ratios, all[i][k].micros/first.micros)
				over = append(over, max(0, all[i][k].held99-first.held99))
			case row.asked && first.kib > 0:
				ratios = append(ratios, all[i][k].kib/first.kib)
			}
			if row.asked && first.first99 > 0 {
				firsts = append(firsts, all[i][k].first99/first.first99)
			}
		}
		s.Ratio, s.HeldOver, s.FirstRatio = spreadOf(ratios), spreadOf(over), spreadOf(firsts)
		rep.Served = append(rep.Served, s)
	}
	return nil
}

// profileOf returns the path of the profile of a row's side in the first pass; "" for none.
func profileOf(folder, row string, side, pass int) (string, error) {
	if folder == "" || pass > 0 {
		return "", nil
	}
	if err := os.MkdirAll(folder, 0o750); err != nil { //nolint:gosec // the user's own folder
		return "", err
	}
	return filepath.Join(folder, fmt.Sprintf("%s.%d.cpu.pprof", row, side)), nil
}

// fresh measures one side once, with empty storage.
func (row *serverRow) fresh(ctx context.Context, side string, at *homes, begin beginSide, profile string) (p pass, err error) {
	h, err := at.open(ctx, side)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return row.pass(ctx, side, h, begin, profile)
}

// pass measures one side once, in a new server.
func (row *serverRow) pass(ctx context.Context, side string, h *home, begin beginSide, profile string) (p pass, err error) {
	spec := &scenario.Served{
		Side: side, Folder: h.folder, Postgres: h.postgres, Deltas: row.Deltas, Every: row.Every, Stall: row.Rounds == 0,
	}
	proc, err := begin(ctx, spec, profile)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, proc.end()) }()
	stopped := context.AfterFunc(ctx, func() { _ = proc.end() })
	defer stopped()
	before, err := proc.stats()
	if err != nil {
		return p, err
	}
	all, err := h.readers(ctx, spec, proc, row.Streams)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, closeLoaders(all)) }()
	if row.Rounds == 0 {
		return p, row.wait(proc, before, all, &p)
	}
	if side != scenario.SideFloor && side != scenario.SideTogether {
		if err := each(min(64, len(all)), len(all), func(i int) error { return all[i].prepare(1 + row.Rounds) }); err != nil {
			return p, err
		}
	}
	return p, row.load(proc, all, &p)
}

// load lets all readers request runs concurrently.
func (row *serverRow) load(proc *sideProcess, all []*loader, p *pass) error {
	paced := row.Every > 0
	if !paced { // a first round, so that everything is initialised
		if err := each(len(all), len(all), func(i int) error { return all[i].run(0) }); err != nil {
			return err
		}
	}
	before, err := proc.stats()
	if err != nil {
		return err
	}
	begun := time.Now()
	firsts := make([][]time.Duration, len(all))
	var got atomic.Int64
	err = each(len(all), len(all), func(i int) error {
		l := all[i]
		if paced { // users do not start at the same moment
			time.Sleep(time.Duration(i) * time.Second / time.Duration(len(all)))
		}
		for range row.Rounds {
			if err := l.run(row.Every); err != nil {
				return err
			}
			if l.deltas == 0 || l.deltas > row.Deltas {
				return fmt.Errorf("a reader got %d deltas of %d", l.deltas, row.Deltas)
			}
			got.Add(int64(l.deltas))
			firsts[i] = append(firsts[i], l.first)
		}
		return nil
	})
	took := time.Since(begun)
	if err != nil {
		return err
	}
	after, err := proc.stats()
	if err != nil {
		return err
	}
	deltas := float64(len(all) * row.Rounds * row.Deltas)
	p.micros = float64((after.CPU - before.CPU).Nanoseconds()) / 1e3 / deltas
	p.cores = (after.CPU - before.CPU).Seconds() / took.Seconds()
	p.rate = deltas / took.Seconds()
	p.merged = 1000 * (1 - float64(got.Load())/deltas)
	p.mib = float64(after.RSS) / (1 << 20)
	p.first50, p.first99, _ = percentiles(slices.Concat(firsts...), 0)
	var held []time.Duration
	for _, l := range all {
		held = append(held, l.held...)
	}
	p.held50, p.held99, p.late = percentiles(held, 2*time.Millisecond)
	return nil
}

// wait begins runs whose model is silent after its first piece. The cost of a run includes its connection and its
// conversation.
func (*serverRow) wait(proc *sideProcess, before sideStat, all []*loader, p *pass) error {
	if err := each(min(64, len(all)), len(all), func(i int) error { return all[i].await() }); err != nil {
		return err
	}
	time.Sleep(time.Second)
	settled, err := proc.stats()
	if err != nil {
		return err
	}
	const watch = 2 * time.Second
	time.Sleep(watch)
	after, err := proc.stats()
	if err != nil {
		return err
	}
	p.kib = float64(after.RSS-before.RSS) / 1024 / float64(len(all))
	p.mib = float64(after.RSS) / (1 << 20)
	p.idle = (after.CPU - settled.CPU).Seconds() / watch.Seconds()
	return nil
}

// percentiles returns the median and the 99th percentile in milliseconds, and how many of 1000 are above a bound.
func percentiles(v []time.Duration, bound time.Duration) (p50, p99, above float64) {
	if len(v) == 0 {
		return 0, 0, 0
	}
	slices.Sort(v)
	n := 0
	for _, d := range v {
		if d > bound {
			n++
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	return ms(v[len(v)/2]), ms(v[len(v)*99/100]), 1000 * float64(n) / float64(len(v))
}

// serverTable formats the rows over HTTP.
func (r *report) serverTable() [][]string {
	t := [][]string{{
		"over HTTP", "side", "cpu each", "to first", "cores", "deltas/s", "first p50", "p99 ms",
		"late p50", "p99 ms",
		"over 2 ms", "merged", "a run", "RSS", "idle cores", "took", "fsyncs",
	}}
	with := func(s spread, unit string) string {
		if s.Max == 0 {
			return ""
		}
		return short(s.Median) + unit
	}
	for i := range r.Served {
		s := &r.Served[i]
		t = append(t, []string{
			s.Name, s.Side, with(s.MicrosEach, " µs"), with(s.Ratio, "×"), with(s.Cores, ""), with(s.Rate, ""), with(s.FirstP50, ""),
			with(s.FirstP99, ""), with(s.HeldP50, ""), with(s.HeldP99, ""), with(s.Late, " in 1000"), with(s.Merged, " in 1000"),
			with(s.KiBEach, " KiB"),
			with(s.MiB, " MiB"), with(s.IdleCores, ""), with(s.TookMS, " ms"), with(s.Syncs, ""),
		})
	}
	for _, s := range r.Skipped {
		t = append(t, []string{s.Row, s.Side, "skipped: " + s.Why})
	}
	return t
}
