package server

import (
	"maps"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/meter"
	"github.com/braidrun/braid/service"
)

// DefaultMetricTenants is how many tenants have metrics of their own where nothing else was said.
const DefaultMetricTenants = 100

// otherTenants is the label of the tenants that have no metrics of their own. No tenant has that id.
const otherTenants = "(other)"

// tenantMetrics count what the runs of each tenant do. A tenant that is seen first has its own label for as long as it exists; those
// that come when all labels are taken share one. So the number of series is bounded, and a counter never falls.
type tenantMetrics struct {
	mu sync.Mutex
	// most is how many tenants have their own label.
	most  int
	kept  map[string]*tenantCounts
	other tenantCounts
	// loads says what tenants have here now; nil before a service is there.
	loads func() map[string]service.TenantLoad
}

// tenantCounts are the counters of one label.
type tenantCounts struct {
	// life tells the tenant from another one that had the id before; empty is not known.
	life     string
	runs     map[string]float64
	tokens   map[string]float64
	refusals map[string]float64
	cost     float64
	unpriced float64
}

// metrics describes what each tenant did, and what it does now.
func (t *tenantMetrics) metrics() []meter.Metric {
	one := func(name, help string, of func(*tenantCounts) float64) meter.Metric {
		return meter.Metric{Kind: meter.KindCounter, Name: name, Help: help, Labels: []string{"tenant"}, Read: func(put func(float64, ...string)) {
			t.each(func(tenant string, c *tenantCounts) { put(of(c), tenant) })
		}}
	}
	many := func(name, help, label string, of func(*tenantCounts) map[string]float64) meter.Metric {
		labels := []string{"tenant", label}
		return meter.Metric{Kind: meter.KindCounter, Name: name, Help: help, Labels: labels, Read: func(put func(float64, ...string)) {
			t.each(func(tenant string, c *tenantCounts) {
				for value, n := range of(c) {
					put(n, tenant, value)
				}
			})
		}}
	}
	now := func(name, help string, of func(service.TenantLoad) int) meter.Metric {
		return meter.Metric{Kind: meter.KindGauge, Name: name, Help: help, Labels: []string{"tenant"}, Read: func(put func(float64, ...string)) {
			now := t.now()
			t.each(func(tenant string, _ *tenantCounts) { put(float64(of(now[tenant])), tenant) })
		}}
	}
	return []meter.Metric{
		many("braid_tenant_runs_total", "Runs of a tenant that have ended, by status.", "status",
			func(c *tenantCounts) map[string]float64 { return c.runs }),
		many("braid_tenant_tokens_total", "Tokens of a tenant's runs that have ended.", "direction",
			func(c *tenantCounts) map[string]float64 { return c.tokens }),
		many("braid_tenant_errors_total", "Requests of a tenant that were answered with an error, by its code.", "code",
			func(c *tenantCounts) map[string]float64 { return c.refusals }),
		one("braid_tenant_cost_usd_total", "Known cost of a tenant's runs that have ended.", func(c *tenantCounts) float64 { return c.cost }),
		one("braid_tenant_runs_unpriced_total", "Runs of a tenant whose cost is not known.", func(c *tenantCounts) float64 { return c.unpriced }),
		now("braid_tenant_runs_running", "Runs of a tenant that this server drives now.", func(l service.TenantLoad) int { return l.Running }),
		now("braid_tenant_runs_queued", "Runs of a tenant that wait here for their turn.", func(l service.TenantLoad) int { return l.Queued }),
	}
}

// each gives the counters of each label.
func (t *tenantMetrics) each(give func(tenant string, c *tenantCounts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tenant, c := range t.kept {
		give(tenant, c)
	}
	give(otherTenants, &t.other)
}

// now is what each label has here now. A tenant that has something here takes a label, where one is left.
func (t *tenantMetrics) now() map[string]service.TenantLoad {
	var loads map[string]service.TenantLoad
	t.mu.Lock()
	ask := t.loads
	t.mu.Unlock()
	if ask != nil {
		loads = ask()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := make(map[string]service.TenantLoad)
	for tenant, load := range loads {
		label := otherTenants
		if load.Running+load.Queued > 0 && t.of(tenant, "") != &t.other {
			label = tenant
		}
		sum := now[label]
		now[label] = service.TenantLoad{Running: sum.Running + load.Running, Queued: sum.Queued + load.Queued}
	}
	return now
}

// of gives the counters of a tenant. One of another life than the counters have begins anew. The caller holds the lock.
func (t *tenantMetrics) of(tenant, life string) *tenantCounts {
	c := t.kept[tenant]
	switch {
	case c != nil && (life == "" || c.life == "" || c.life == life):
		if c.life == "" {
			c.life = life
		}
		return c
	case c == nil && len(t.kept) >= t.most:
		return &t.other
	}
	if t.kept == nil {
		t.kept = make(map[string]*tenantCounts)
	}
	c = &tenantCounts{life: life}
	t.kept[tenant] = c
	return c
}

// ended counts a run that has ended.
func (t *tenantMetrics) ended(tenant, life string, b *event.RunEnded) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(tenant, life)
	add(&c.runs, string(b.Status), 1)
	add(&c.tokens, "input", float64(max(b.Usage.Input, 0)))
	add(&c.tokens, "output", float64(max(b.Usage.Output, 0)))
	add(&c.tokens, "cache_read", float64(max(b.Usage.CacheRead, 0)))
	add(&c.tokens, "cache_write", float64(max(b.Usage.CacheWrite, 0)))
	if b.CostNanoUSD != nil {
		c.cost += float64(max(*b.CostNanoUSD, 0)) / 1e9
	} else {
		c.unpriced++
	}
}

func (t *tenantMetrics) refused(tenant, code string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add(&t.of(tenant, "").refusals, code, 1)
}

func add(counts *map[string]float64, label string, n float64) {
	if *counts == nil {
		*counts = make(map[string]float64)
	}
	(*counts)[label] += n
}

// Tenants are those that have metrics of their own, with their lives as far as they are known.
func (m *Metrics) Tenants() map[string]string {
	m.tenants.mu.Lock()
	defer m.tenants.mu.Unlock()
	lives := make(map[string]string, len(m.tenants.kept))
	for tenant, c := range m.tenants.kept {
		lives[tenant] = c.life
	}
	return lives
}

// ForgetTenants removes the metrics of the tenants that gone reports: they were erased, and one that is made under the same id is another
// one. It must not call the Metrics.
func (m *Metrics) ForgetTenants(gone func(tenant, life string) bool) {
	m.tenants.mu.Lock()
	defer m.tenants.mu.Unlock()
	maps.DeleteFunc(m.tenants.kept, func(tenant string, c *tenantCounts) bool { return gone(tenant, c.life) })
}

// LimitTenants bounds how many tenants have metrics of their own; the others share the label "(other)". It is called before
// anything is counted. 0 gives none metrics of its own.
func (m *Metrics) LimitTenants(most int) {
	m.tenants.mu.Lock()
	defer m.tenants.mu.Unlock()
	m.tenants.most = max(most, 0)
}

// Failed counts a request that was answered with an error of the code, of a tenant; "" is a request without a credential.
func (m *Metrics) Failed(tenant, code string) {
	m.errors.Inc(code)
	if tenant != "" {
		m.tenants.refused(tenant, code)
	}
}
