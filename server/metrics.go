package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
)

// Metrics count what the server and its runs do, for Prometheus. No label holds
// anything that a request can choose, and the number of tenants that are labels is bounded.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
	frames   prometheus.Counter
	cuts     prometheus.Counter
	runs     *prometheus.CounterVec
	steps    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     prometheus.Counter
	unpriced prometheus.Counter
	time     prometheus.Histogram
	poisoned prometheus.Counter
	refusals *prometheus.CounterVec
	errors   *prometheus.CounterVec
	tenants  tenantMetrics
}

// NewMetrics makes a registry of its own with everything in it.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "braid_http_request_seconds", Help: "How long requests took, by route; a stream counts until its end.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60, 300},
		}, []string{"method", "route", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "braid_streams", Help: "Streams that are open."}),
		frames: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "braid_stream_writes_total", Help: "Writes to streams; each holds all that was ready.",
		}),
		cuts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "braid_stream_cuts_total", Help: "Times that a slow reader was cut back to a snapshot.",
		}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "braid_runs_total", Help: "Runs that have ended, by how."},
			[]string{"status", "stop"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "braid_steps_total", Help: "Steps that have ended, by kind and outcome."},
			[]string{"kind", "outcome"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "braid_tokens_total", Help: "Tokens of runs that have ended."},
			[]string{"direction"}),
		cost: prometheus.NewCounter(prometheus.CounterOpts{Name: "braid_cost_usd_total", Help: "What runs that have ended cost, where it is known."}),
		unpriced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "braid_runs_unpriced_total", Help: "Runs that have ended of which it is not known what they cost.",
		}),
		poisoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "braid_runs_poisoned_total", Help: "Runs that were ended because the processes that drove them died again and again.",
		}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "braid_refusals_total", Help: "Requests that were refused, and runs that were ended, because of a bound, by the bound.",
		}, []string{"limit"}),
		time: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "braid_run_seconds", Help: "How long runs took from their first event to their last.",
			Buckets: []float64{.01, .1, .5, 2, 10, 30, 60, 300, 3600},
		}),
	}
	m.errors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "braid_errors_total", Help: "Requests that were answered with an error, by its code.",
	}, []string{"code"})
	m.tenants.most = DefaultMetricTenants
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "braid_build_info", Help: "The version that runs; always 1."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.requests, m.streams, m.frames, m.cuts, m.runs, m.steps, m.tokens, m.cost, m.unpriced, m.time, m.poisoned, m.refusals,
		m.errors, &m.tenants, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// wrote counts writes to streams.
func (m *Metrics) wrote(n int) { m.frames.Add(float64(n)) }

// Observe counts a durable event of a run: it is what service.Options.Observe takes.
func (m *Metrics) Observe(tenant, life string, e *event.Event) {
	switch b := e.Body.(type) {
	case *event.RunEnded:
		m.tenants.ended(tenant, life, b)
		m.runs.WithLabelValues(string(b.Status), knownStop(b.Stop)).Inc()
		m.tokens.WithLabelValues("input").Add(float64(max(b.Usage.Input, 0)))
		m.tokens.WithLabelValues("output").Add(float64(max(b.Usage.Output, 0)))
		m.tokens.WithLabelValues("cache_read").Add(float64(max(b.Usage.CacheRead, 0)))
		m.tokens.WithLabelValues("cache_write").Add(float64(max(b.Usage.CacheWrite, 0)))
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
		m.steps.WithLabelValues(string(b.Step), string(b.Outcome)).Inc()
	case *event.AssistantMessage:
		if e.Step != "" && !b.Piece {
			m.steps.WithLabelValues(string(event.StepModel), string(event.OutcomeDone)).Inc()
		}
	}
}

// Refused counts a refusal, if the error is one that is about a bound of the tenant or of the server. It is what
// Refused of agentcore.Options takes.
func (m *Metrics) Refused(err error) {
	switch event.KindOf(err) {
	case event.ErrBacklogFull:
		m.refusals.WithLabelValues("queued").Inc()
	case event.ErrQuota:
		name, ok := door.QuotaOf(err)
		if !ok {
			name = "other"
		}
		m.refusals.WithLabelValues(name).Inc()
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
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// measures answers a scrape.
func (s *Server) measures(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}
