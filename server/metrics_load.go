package server

import (
	"github.com/braidrun/braid/server/meter"
	"github.com/braidrun/braid/service"
)

// Load is where a server's gauges come from. It is asked at each scrape.
type Load struct {
	// Runs says how many runs the server drives, and how many are queued behind them.
	Runs func() (running, queued int)
	// Tenants says the same for each tenant.
	Tenants func() map[string]service.TenantLoad
	// Counts are what the service has counted since it began.
	Counts func() service.Counts
	// Pools are the connections to the database, by what they are for. None is none.
	Pools map[string]func() Pool
}

// Pool says how full a pool of connections is.
type Pool struct {
	// Most bounds the connections; Used are those that work, Idle those that wait for work.
	Most, Used, Idle int
	// Waits counts the calls that had to wait for a connection, and Waited adds up their waits, in seconds.
	Waits  int64
	Waited float64
}

// Load adds gauges of what the server does now. It is called once.
func (m *Metrics) Load(l Load) {
	gauge := func(name, help string, value func() float64) {
		m.all.Read(meter.One(meter.KindGauge, name, help, value))
	}
	counter := func(name, help string, value func() float64) {
		m.all.Read(meter.One(meter.KindCounter, name, help, value))
	}
	if l.Runs != nil {
		gauge("braid_runs_running", "Runs that this server drives now.", func() float64 { n, _ := l.Runs(); return float64(n) })
		gauge("braid_runs_queued", "Runs that wait here for their turn.", func() float64 { _, n := l.Runs(); return float64(n) })
	}
	if l.Tenants != nil {
		m.tenants.mu.Lock()
		m.tenants.loads = l.Tenants
		m.tenants.mu.Unlock()
	}
	if l.Counts != nil {
		counter("braid_leases_lost_total", "Runs that another server took over while this one drove them.",
			func() float64 { return float64(l.Counts().LeasesLost) })
		counter("braid_lock_waits_total", "Requests that waited for their conversation's open run.",
			func() float64 { return float64(l.Counts().LockWaits) })
		counter("braid_lock_wait_seconds_total", "How long requests waited for their conversation's open run.",
			func() float64 { return l.Counts().LockWaited.Seconds() })
	}
	if len(l.Pools) > 0 {
		m.all.Read(pools(l.Pools)...)
	}
}

// pools shows how full the pools of connections are.
func pools(all map[string]func() Pool) []meter.Metric {
	one := func(kind meter.Kind, name, help string, of func(Pool) float64) meter.Metric {
		return meter.Metric{Kind: kind, Name: name, Help: help, Labels: []string{"pool"}, Read: func(put func(float64, ...string)) {
			for name, pool := range all {
				put(of(pool()), name)
			}
		}}
	}
	return []meter.Metric{
		one(meter.KindGauge, "braid_database_connections_max", "Most connections of a pool.", func(p Pool) float64 { return float64(p.Most) }),
		{
			Kind: meter.KindGauge, Name: "braid_database_connections", Help: "Connections of a pool, by state: used or idle.",
			Labels: []string{"pool", "state"}, Read: func(put func(float64, ...string)) {
				for name, pool := range all {
					now := pool()
					put(float64(now.Used), name, "used")
					put(float64(now.Idle), name, "idle")
				}
			},
		},
		one(meter.KindCounter, "braid_database_waits_total", "Calls that waited for a connection of a pool.",
			func(p Pool) float64 { return float64(p.Waits) }),
		one(meter.KindCounter, "braid_database_wait_seconds_total", "How long calls waited for a connection of a pool.",
			func(p Pool) float64 { return p.Waited }),
	}
}
