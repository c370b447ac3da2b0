package main

import "github.com/braidrun/braid/bench/scenario"

// serverPromises are the lines of the contract that are kept over HTTP. With SQLite at
// FULL twice as much is allowed.
func serverPromises() []promise {
	const ratio, micros, ms, kib, mib, mb = "×", "µs", " ms", " KiB", " MiB", " MB"
	cpu := func(s *served) spread { return s.MicrosEach }
	toFloor := func(s *served) spread { return s.Ratio }
	first := func(s *served) spread { return s.FirstP99 }
	held := func(s *served) spread { return s.HeldOver }
	each := func(s *served) spread { return s.KiBEach }
	all := func(s *served) spread { return s.MiB }
	const burst, paced, idle, many = "server-burst-500", "server-paced-500", "server-idle-500", "server-idle-5000"
	const memory, sqlite = scenario.SideMemory, scenario.SideSQLite
	return append(tenantPromises(), []promise{
		{Work: "server, 500 in burst: a delta", Unit: micros, Must: 2, Aim: 1.2, find: servedOf(burst, memory, cpu)},
		{Work: "the same on SQLite at FULL", Unit: micros, Must: 4, find: servedOf(burst, sqlite, cpu)},
		{Work: "server, 500 in burst: first delta, p99", Unit: ms, Must: 250, find: servedOf(burst, memory, first)},
		{Work: "the same on SQLite at FULL", Unit: ms, Must: 500, find: servedOf(burst, sqlite, first)},
		{Work: "server, 500 paced: processor time to the floor", Unit: ratio, Must: 1.3, Aim: 1.0, find: servedOf(paced, memory, toFloor)},
		{Work: "the same on SQLite at FULL", Unit: ratio, Must: 2.6, find: servedOf(paced, sqlite, toFloor)},
		{Work: "server, 500 paced: on its way, p99 over the floor", Unit: ms, Must: 2, find: servedOf(paced, memory, held)},
		{Work: "the same on SQLite at FULL", Unit: ms, Must: 4, find: servedOf(paced, sqlite, held)},
		{Work: "server, 500 idle: a stream", Unit: kib, Must: 35, Aim: 12, find: servedOf(idle, memory, each)},
		{Work: "server, 5000 idle: a stream", Unit: kib, Must: 35, Aim: 12, find: servedOf(many, memory, each)},
		{Work: "server, 5000 idle: all of it", Unit: mib, Must: 185, find: servedOf(many, memory, all)},
		{Work: "the same on SQLite at FULL", Unit: mib, Must: 370, find: servedOf(many, sqlite, all)},
		{Work: "braid serve: ready, in a new folder", Unit: ms, Must: 100, find: readyOf(func(r *ready) spread { return r.NewMS })},
		{Work: "braid serve: ready, in a used folder", Unit: ms, Must: 100, find: readyOf(func(r *ready) spread { return r.AgainMS })},
		{Work: "braid serve: idle memory", Unit: mib, Must: 60, find: readyOf(func(r *ready) spread { return r.MiB })},
		{Work: "braid: stripped binary", Unit: mb, Must: 70, Aim: 45, find: readyOf(func(r *ready) spread { return exactly(r.BinaryMB) })},
	}...)
}

// tenantPromises are the lines of what authentication, tenants and logs may cost.
func tenantPromises() (list []promise) {
	ratio := func(s *served) spread { return s.Ratio }
	for _, row := range tenantRows() {
		what := "processor time"
		if row.Rounds == 0 {
			what = "memory of a stream"
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
		// The same is what noise leaves of it.
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
