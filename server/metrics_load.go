package server

import (
	"github.com/prometheus/client_golang/prometheus"

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
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
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
		m.registry.MustRegister(pools(l.Pools))
	}
}

// pools shows how full the pools of connections are.
type pools map[string]func() Pool

var (
	poolMost = prometheus.NewDesc("braid_database_connections_max", "Most connections of a pool.", []string{"pool"}, nil)

	poolNow = prometheus.NewDesc("braid_database_connections", "Connections of a pool, by state: used or idle.", []string{"pool", "state"}, nil)

	poolWaits = prometheus.NewDesc("braid_database_waits_total", "Calls that waited for a connection of a pool.", []string{"pool"}, nil)

	poolWaited = prometheus.NewDesc("braid_database_wait_seconds_total", "How long calls waited for a connection of a pool.", []string{"pool"}, nil)
)

// Describe implements [prometheus.Collector].
func (p pools) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolMost, poolNow, poolWaits, poolWaited} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (p pools) Collect(ch chan<- prometheus.Metric) {
	for name, of := range p {
		now := of()
		ch <- prometheus.MustNewConstMetric(poolMost, prometheus.GaugeValue, float64(now.Most), name)
		ch <- prometheus.MustNewConstMetric(poolNow, prometheus.GaugeValue, float64(now.Used), name, "used")
		ch <- prometheus.MustNewConstMetric(poolNow, prometheus.GaugeValue, float64(now.Idle), name, "idle")
		ch <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(now.Waits), name)
		ch <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, now.Waited, name)
	}
}
