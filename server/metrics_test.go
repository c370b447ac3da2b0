package server_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// scrape gives the lines of the metrics that begin with one of the names.
func (s *site) scrape(names ...string) (lines []string) {
	s.t.Helper()
	raw, err := io.ReadAll(s.ask("GET", "/metrics", "").Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(line, name) }) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func endOf(status event.RunStatus, tokens int, cost *int64) *event.Event {
	return &event.Event{Body: &event.RunEnded{Status: status, Usage: event.Usage{Input: int64(tokens)}, CostNanoUSD: cost}}
}

// Each tenant has metrics of its own up to a bound; the others share one label. A tenant that is erased is gone from them, and one that
// is made under its id begins at zero.
func TestMetricsOfTenants(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.metrics.LimitTenants(2)
	cost := int64(2_000_000_000)
	s.metrics.Observe("acme", "life-1", endOf(event.RunCompleted, 10, &cost))
	s.metrics.Observe("beta", "life-2", endOf(event.RunFailed, 5, nil))
	for i := range 1000 { // of tenants that come later
		s.metrics.Observe(fmt.Sprint("late-", i), fmt.Sprint("life-", i), endOf(event.RunCompleted, 1, &cost))
	}
	has := func(want ...string) {
		t.Helper()
		got := s.scrape("braid_tenant_")
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("the metrics lack %s: %q", line, got)
			}
		}
	}
	has(
		`braid_tenant_runs_total{status="completed",tenant="acme"} 1`, `braid_tenant_tokens_total{direction="input",tenant="acme"} 10`,
		`braid_tenant_cost_usd_total{tenant="acme"} 2`, `braid_tenant_runs_total{status="failed",tenant="beta"} 1`,
		`braid_tenant_runs_unpriced_total{tenant="beta"} 1`, `braid_tenant_runs_total{status="completed",tenant="(other)"} 1000`,
	)
	labels := func() map[string]bool {
		seen := make(map[string]bool)
		for _, line := range s.scrape("braid_tenant_") {
			_, rest, _ := strings.Cut(line, `tenant="`)
			label, _, _ := strings.Cut(rest, `"`)
			seen[label] = true
		}
		return seen
	}
	if got := labels(); len(got) != 3 || !got["acme"] || !got["beta"] || !got["(other)"] {
		t.Errorf("the labels are %v", got)
	}

	// acme is made anew under its id.
	s.metrics.Observe("acme", "life-3", endOf(event.RunCompleted, 1, nil))
	has(`braid_tenant_runs_total{status="completed",tenant="acme"} 1`, `braid_tenant_tokens_total{direction="input",tenant="acme"} 1`,
		`braid_tenant_cost_usd_total{tenant="acme"} 0`)
	// beta is erased: its label goes, and makes room.
	if lives := s.metrics.Tenants(); len(lives) != 2 || lives["beta"] != "life-2" || lives["acme"] != "life-3" {
		t.Errorf("the tenants with metrics are %v", lives)
	}
	s.metrics.ForgetTenants(func(tenant, life string) bool { return tenant == "beta" && life == "life-2" })
	if labels()["beta"] {
		t.Error("an erased tenant still has metrics")
	}
	s.metrics.Observe("gamma", "life-4", endOf(event.RunCompleted, 1, nil))
	has(`braid_tenant_runs_total{status="completed",tenant="gamma"} 1`)
}

// The gauges follow what the server does now, and refusals are counted by their code and, with a credential, by tenant.
func TestMetricsOfTheLoad(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.metrics.Load(server.Load{
		Runs: s.service.Load, Tenants: func() map[string]service.TenantLoad {
			return map[string]service.TenantLoad{"acme": {Running: 3, Queued: 2}, "idle": {}}
		},
		Counts: func() service.Counts {
			return service.Counts{LeasesLost: 4, LockWaits: 5, LockWaited: 1500 * time.Millisecond}
		},
		Pools: map[string]func() server.Pool{"journal": func() server.Pool { return server.Pool{Most: 5, Used: 3, Idle: 1, Waits: 7, Waited: .5} }},
	})
	s.json(404, "GET", "/v1/conversations/conv_none", "")
	s.json(401, "GET", "/v1/conversations/conv_none", "", "Authorization", "Bearer x")
	got := s.scrape("braid_")
	for _, want := range []string{
		"braid_runs_running 0", "braid_runs_queued 0", `braid_tenant_runs_running{tenant="acme"} 3`, `braid_tenant_runs_queued{tenant="acme"} 2`,
		"braid_leases_lost_total 4", "braid_lock_waits_total 5", "braid_lock_wait_seconds_total 1.5",
		`braid_database_connections_max{pool="journal"} 5`, `braid_database_connections{pool="journal",state="used"} 3`,
		`braid_database_connections{pool="journal",state="idle"} 1`, `braid_database_waits_total{pool="journal"} 7`,
		`braid_database_wait_seconds_total{pool="journal"} 0.5`,
		`braid_errors_total{code="CONVERSATION_NOT_FOUND"} 1`, `braid_errors_total{code="UNAUTHENTICATED"} 1`,
		`braid_tenant_errors_total{code="CONVERSATION_NOT_FOUND",tenant="default"} 1`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, line := range got {
		if strings.Contains(line, `tenant="idle"`) || strings.Contains(line, `tenant=""`) {
			t.Errorf("%s", line)
		}
	}
}

// The guide names every metric.
func TestMetricsAreInTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/guide/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, nil)
	s.metrics.Load(server.Load{
		Runs: s.service.Load, Tenants: s.service.Tenants, Counts: s.service.Counts,
		Pools: map[string]func() server.Pool{"journal": func() server.Pool { return server.Pool{} }},
	})
	s.metrics.Observe("acme", "life", endOf(event.RunCompleted, 1, nil))
	s.json(404, "GET", "/v1/conversations/conv_none", "")
	s.ask("GET", "/healthz", "")
	names := 0
	for _, line := range s.scrape("# TYPE braid_") {
		if name := strings.Fields(line)[2]; !strings.Contains(string(guide), "`"+name+"`") {
			t.Errorf("the guide lacks %s", name)
		}
		names++
	}
	if names < 25 {
		t.Errorf("only %d metrics were looked at", names)
	}
}

// A request that waits for its conversation's open run is counted with its wait.
func TestLockWaitsAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	s.json(202, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use wait"}`, "Prefer", "respond-async")
	s.json(409, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"hello"}`)
	if c := s.service.Counts(); c.LockWaits != 1 || c.LockWaited <= 0 {
		t.Errorf("the counts are %+v", c)
	}
	close(s.gate)
}
