package server

import (
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/meter"
)

// Metrics count what the server and its runs do, for Prometheus. No label holds
// anything that a request can choose, and the number of tenants that are labels is bounded.
type Metrics struct {
	all      meter.Set
	requests *meter.Histogram
	streams  *meter.Value
	frames   *meter.Value
	cuts     *meter.Value
	runs     *meter.Value
	steps    *meter.Value
	tokens   *meter.Value
	cost     *meter.Value
	unpriced *meter.Value
	time     *meter.Histogram
	poisoned *meter.Value
	refusals *meter.Value
	errors   *meter.Value
	tenants  tenantMetrics
}

// NewMetrics makes a registry of its own with everything in it.
func NewMetrics(version string) *Metrics {
	m := &Metrics{}
	m.requests = m.all.Histogram("braid_http_request_seconds", "How long requests took, by route; a stream counts until its end.",
		[]float64{.001, .005, .02, .1, .5, 2, 10, 60, 300}, "method", "route", "status")
	m.streams = m.all.Gauge("braid_streams", "Streams that are open.")
	m.frames = m.all.Counter("braid_stream_writes_total", "Writes to streams; each holds all that was ready.")
	m.cuts = m.all.Counter("braid_stream_cuts_total", "Times that a slow reader was cut back to a snapshot.")
	m.runs = m.all.Counter("braid_runs_total", "Runs that have ended, by how.", "status", "stop")
	m.steps = m.all.Counter("braid_steps_total", "Steps that have ended, by kind and outcome.", "kind", "outcome")
	m.tokens = m.all.Counter("braid_tokens_total", "Tokens of runs that have ended.", "direction")
	m.cost = m.all.Counter("braid_cost_usd_total", "What runs that have ended cost, where it is known.")
	m.unpriced = m.all.Counter("braid_runs_unpriced_total", "Runs that have ended of which it is not known what they cost.")
	m.poisoned = m.all.Counter("braid_runs_poisoned_total",
		"Runs that were ended because the processes that drove them died again and again.")
	m.refusals = m.all.Counter("braid_refusals_total",
		"Requests that were refused, and runs that were ended, because of a bound, by the bound.", "limit")
	m.time = m.all.Histogram("braid_run_seconds", "How long runs took from their first event to their last.",
		[]float64{.01, .1, .5, 2, 10, 30, 60, 300, 3600})
	m.errors = m.all.Counter("braid_errors_total", "Requests that were answered with an error, by its code.", "code")
	m.tenants.most = DefaultMetricTenants
	m.all.Read(m.tenants.metrics()...)
	m.all.Gauge("braid_build_info", "The version that runs; always 1.", "version").Add(1, version)
	m.all.Runtime()
	return m
}

// wrote counts writes to streams.
func (m *Metrics) wrote(n int) { m.frames.Add(float64(n)) }

// Observe counts a durable event of a run: it is what service.Options.Observe takes.
func (m *Metrics) Observe(tenant, life string, e *event.Event) {
	switch b := e.Body.(type) {
	case *event.RunEnded:
		m.tenants.ended(tenant, life, b)
		m.runs.Inc(string(b.Status), knownStop(b.Stop))
		m.tokens.Add(float64(max(b.Usage.Input, 0)), "input")
		m.tokens.Add(float64(max(b.Usage.Output, 0)), "output")
		m.tokens.Add(float64(max(b.Usage.CacheRead, 0)), "cache_read")
		m.tokens.Add(float64(max(b.Usage.CacheWrite, 0)), "cache_write")
		if b.CostNanoUSD != nil {
			m.cost.Add(float64(max(*b.CostNanoUSD, 0)) / 1e9)
		} else {
			m.unpriced.Inc()
		}
		m.time.Observe(b.Duration.Seconds())
		if b.Err != nil {
			m.Refused(b.Err)
		}
		if b.Err != nil && b.Err.Kind == event.ErrPoisoned {
			m.poisoned.Inc()
		}
	case *event.StepEnded:
		m.steps.Inc(string(b.Step), string(b.Outcome))
	case *event.AssistantMessage:
		if e.Step != "" && !b.Piece {
			m.steps.Inc(string(event.StepModel), string(event.OutcomeDone))
		}
	}
}

// Refused counts a refusal, if the error is one that is about a bound of the tenant or of the server. It is what
// Refused of agentcore.Options takes.
func (m *Metrics) Refused(err error) {
	switch event.KindOf(err) {
	case event.ErrBacklogFull:
		m.refusals.Inc("queued")
	case event.ErrQuota:
		name, ok := door.QuotaOf(err)
		if !ok {
			name = "other"
		}
		m.refusals.Inc(name)
	}
}

// knownStop keeps words that only a provider knows out of the labels.
func knownStop(s event.StopReason) string {
	switch s {
	case event.StopEndTurn, event.StopToolUse, event.StopMaxTokens, event.StopSequence, event.StopCancelled, event.StopTimeout,
		event.StopError, event.StopContextOverflow, event.StopRefusal, event.StopContentFiltered, event.StopGuardrail,
		event.StopLimitCycles, event.StopLimitToolCalls, event.StopLimitRepeats, event.StopLimitInputTokens, event.StopLimitOutputTokens,
		event.StopLimitTotalTokens, event.StopLimitCost, event.StopLimitDepth, event.StopLimitScopes:
		return string(s)
	default:
		return "other"
	}
}

// Request counts a request. Neither method nor route may be what the caller wrote: the
// route is its pattern, and a method that none takes is "".
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if method == "" {
		method = "other"
	}
	m.requests.Observe(took.Seconds(), method, route, strconv.Itoa(status))
}
