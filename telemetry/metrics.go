package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/braidrun/braid/event"
)

// instruments are the metrics. Their attributes never contain text that a user or a model can
// choose. They contain only names of models and tools that the operator has given.
type instruments struct {
	duration   metric.Float64Histogram
	tokens     metric.Int64Histogram
	firstChunk metric.Float64Histogram
	cycles     metric.Int64Histogram
	cache      metric.Int64Counter
	cost       metric.Float64Counter
	stragglers metric.Int64Counter
}

func newInstruments(m metric.Meter) (*instruments, error) {
	i := &instruments{}
	var err error
	one := func(e error) {
		if err == nil {
			err = e
		}
	}
	var e error
	i.duration, e = m.Float64Histogram(metricDuration, metric.WithUnit("s"), metric.WithDescription("GenAI operation duration."),
		metric.WithExplicitBucketBoundaries(durationBounds[:]...))
	one(e)
	i.tokens, e = m.Int64Histogram(metricTokens, metric.WithUnit("{token}"), metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(tokenBounds[:]...))
	one(e)
	i.firstChunk, e = m.Float64Histogram(metricFirstChunk, metric.WithUnit("s"),
		metric.WithDescription("Time to receive the first chunk, measured from when the client issues the generation request."),
		metric.WithExplicitBucketBoundaries(durationBounds[:]...))
	one(e)
	i.cycles, e = m.Int64Histogram(metricCycles, metric.WithUnit("{cycle}"), metric.WithDescription("Cycles of a run's root agent."),
		metric.WithExplicitBucketBoundaries(cycleBounds[:]...))
	one(e)
	i.cache, e = m.Int64Counter(metricCache, metric.WithUnit("{token}"),
		metric.WithDescription("Input tokens that were read from a provider's cache, or written to it."))
	one(e)
	i.cost, e = m.Float64Counter(metricCost, metric.WithUnit("{USD}"), metric.WithDescription("What model calls cost, where it is known."))
	one(e)
	i.stragglers, e = m.Int64Counter(metricStragglers, metric.WithUnit("{call}"),
		metric.WithDescription("Calls that did not stop when they were to and were left behind."))
	one(e)
	return i, err
}

// model records one attempt of a model call.
func (i *instruments) model(
	ctx context.Context, asked, answered string, u event.Usage, nano *int64, took, first time.Duration, fault *event.Error,
) {
	provider, name := providerOf(asked)
	base := make([]attribute.KeyValue, 0, 5)
	base = append(base, attribute.String(keyOperation, opChat), attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name))
	if answered != "" {
		base = append(base, attribute.String(keyResponseModel, answered))
	}
	if u.Output > 0 || inputOf(u) > 0 {
		i.tokens.Record(ctx, inputOf(u), metric.WithAttributes(append(base, attribute.String(keyTokenType, "input"))...))
		i.tokens.Record(ctx, u.Output, metric.WithAttributes(append(base, attribute.String(keyTokenType, "output"))...))
	}
	if u.CacheRead > 0 {
		i.cache.Add(ctx, u.CacheRead, metric.WithAttributes(append(base, attribute.String(keyCache, "read"))...))
	}
	if u.CacheWrite > 0 {
		i.cache.Add(ctx, u.CacheWrite, metric.WithAttributes(append(base, attribute.String(keyCache, "creation"))...))
	}
	if nano != nil && *nano > 0 {
		i.cost.Add(ctx, float64(*nano)/1e9, metric.WithAttributes(base...))
	}
	if first > 0 {
		i.firstChunk.Record(ctx, first.Seconds(), metric.WithAttributes(base...))
	}
	if fault != nil {
		base = append(base, errorType(fault))
	}
	i.duration.Record(ctx, took.Seconds(), metric.WithAttributes(base...))
}

// tool records one attempt of a tool call.
func (i *instruments) tool(ctx context.Context, model, tool string, took time.Duration, fault *event.Error) {
	provider, _ := providerOf(model)
	base := []attribute.KeyValue{
		attribute.String(keyOperation, opTool), attribute.String(keyProvider, provider), attribute.String(keyTool, tool),
	}
	if fault != nil {
		base = append(base, errorType(fault))
	}
	i.duration.Record(ctx, took.Seconds(), metric.WithAttributes(base...))
}

// agent records one drive of an agent.
func (i *instruments) agent(ctx context.Context, model string, took time.Duration, fault *event.Error) {
	base := append([]attribute.KeyValue{attribute.String(keyOperation, opAgent)}, modelOf(model)...)
	if fault != nil {
		base = append(base, errorType(fault))
	}
	i.duration.Record(ctx, max(took, 0).Seconds(), metric.WithAttributes(base...))
}

// run records an ended run.
func (i *instruments) run(ctx context.Context, model string, b *event.RunEnded) {
	provider, _ := providerOf(model)
	i.cycles.Record(ctx, int64(b.Cycles), metric.WithAttributes(
		attribute.String(keyProvider, provider), attribute.String(keyStatus, string(b.Status))))
}

// straggler counts a call that was left running.
func (i *instruments) straggler(ctx context.Context, kind event.StepKind) {
	operation := opTool
	if kind != event.StepTool {
		operation = opChat
	}
	i.stragglers.Add(ctx, 1, metric.WithAttributes(attribute.String(keyOperation, operation)))
}
