package main

import "github.com/braidrun/braid/bench/scenario"

// serverPromises are the promises over HTTP, for braid serve with its defaults.
func serverPromises() []promise {
	const ratio, micros, ms, kib, mib, mb = "×", "µs", " ms", " KiB", " MiB", " MB"
	cpu := func(s *served) spread { return s.MicrosEach }
	toFloor := func(s *served) spread { return s.Ratio }
	first := func(s *served) spread { return s.FirstP99 }
	held := func(s *served) spread { return s.HeldOver }
	each := func(s *served) spread { return s.KiBEach }
	word := func(s *served) spread { return s.FirstP50 }
	const burst, paced, waiting, alone = "server-burst-500", "server-paced-500", "server-waiting-500", "server-burst-1"
	const side = scenario.SideServe
	return append(tenantPromises(), []promise{
		{Work: "server, 500 in burst: a delta", Unit: micros, Must: 3, Aim: 2, find: servedOf(burst, side, cpu)},
		{Work: "server, 500 in burst: first delta, p99", Unit: ms, Must: 400, Aim: 250, find: servedOf(burst, side, first)},
		{Work: "server, one run alone: first delta, p50", Unit: ms, Must: 0.6, find: servedOf(alone, side, word)},
		{Work: "server, 500 paced: processor time to the floor", Unit: ratio, Must: 1.4, Aim: 1.0, find: servedOf(paced, side, toFloor)},
		{Work: "server, 500 paced: late, p99 over the floor", Unit: ms, Must: 2, find: servedOf(paced, side, held)},
		{Work: "server, 500 runs that wait: a run", Unit: kib, Must: 48, find: servedOf(waiting, side, each)},
		{Work: "server: fsyncs of a first run", Must: 2, find: servedOf(syncsRow, side, func(s *served) spread { return s.Syncs })},
		{Work: "braid serve: ready, in a new folder", Unit: ms, Must: 60, find: readyOf(func(r *ready) spread { return r.NewMS })},
		{Work: "braid serve: ready, in a used folder", Unit: ms, Must: 60, find: readyOf(func(r *ready) spread { return r.AgainMS })},
		{Work: "braid serve: idle memory", Unit: mib, Must: 30, find: readyOf(func(r *ready) spread { return r.MiB })},
		{Work: "braid: stripped binary", Unit: mb, Must: 35, find: readyOf(func(r *ready) spread { return exactly(r.BinaryMB) })},
	}...)
}

// tenantPromises are the promises about the cost of authentication, tenants and logs.
func tenantPromises() (list []promise) {
	ratio := func(s *served) spread { return s.Ratio }
	for _, row := range tenantRows() {
		what := "processor time"
		if row.Rounds == 0 {
			what = "memory of a waiting run"
		}
		side := row.Sides[1]
		list = append(list, promise{Work: row.Name + ": " + what + " to plain", Unit: "×", Must: 1.3, find: servedOf(row.ID, side, ratio)})
		if row.Rounds > 0 {
			list = append(list, promise{
				Work: "the same: first delta, p99, to plain", Unit: "×", Must: 1.3,
				find: servedOf(row.ID, side, func(s *served) spread { return s.FirstRatio }),
			})
		}
	}
	for _, side := range []string{scenario.SideTenantsSQLite, scenario.SideTenantsPostgres} {
		for _, r := range refusals(true) {
			list = append(list, promise{
				Work: r.name + "; " + side, Unit: "µs", Must: 2000, find: servedOf(r.id, side, func(s *served) spread { return s.MicrosEach }),
			})
		}
		// Allow for noise.
		list = append(list, promise{
			Work: "a turn, many conversations to few; " + side, Unit: "×", Must: 1.2, find: servedOf(crowdRow, crowdSide(side, false), ratio),
		})
	}
	for _, side := range []string{scenario.SideSQLite, scenario.SidePostgres} {
		list = append(list, promise{
			Work: "10,000 messages logged; " + side, Unit: " ms", Must: 2000,
			find: servedOf(messagesRow, side, func(s *served) spread { return s.TookMS }),
		})
	}
	return list
}

func servedOf(row, side string, figure func(*served) spread) finder {
	return func(r *report) (spread, bool) {
		for i := range r.Served {
			if s := &r.Served[i]; s.Row == row && s.Side == side {
				return figure(s), true
			}
		}
		return spread{}, false
	}
}

func readyOf(figure func(*ready) spread) finder {
	return func(r *report) (spread, bool) {
		if r.Ready == nil {
			return spread{}, false
		}
		return figure(r.Ready), true
	}
}
