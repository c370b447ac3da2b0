package otlp

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricExporter exports metrics. It implements [metric.Exporter].
type metricExporter struct {
	*sender

	temporality metric.TemporalitySelector
	aggregation metric.AggregationSelector
	closed      atomic.Bool
}

// These variables apply to metrics only.
const (
	temporalityPreference = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
	histogramAggregation  = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
)

var errUnknownWord = errors.New("it is not a word of the specification")

func newMetricExporter(s *sender, env func(string) string) (*metricExporter, error) {
	e := &metricExporter{sender: s, temporality: metric.DefaultTemporalitySelector, aggregation: metric.DefaultAggregationSelector}
	switch strings.ToLower(env(temporalityPreference)) {
	case "", "cumulative":
	case "delta":
		e.temporality = metric.DeltaTemporalitySelector
	case "lowmemory":
		e.temporality = metric.LowMemoryTemporalitySelector
	default:
		return nil, unusable(temporalityPreference, errUnknownWord)
	}
	switch strings.ToLower(env(histogramAggregation)) {
	case "", "explicit_bucket_histogram":
	case "base2_exponential_bucket_histogram":
		e.aggregation = func(kind metric.InstrumentKind) metric.Aggregation {
			if kind == metric.InstrumentKindHistogram {
				return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return metric.DefaultAggregationSelector(kind)
		}
	default:
		return nil, unusable(histogramAggregation, errUnknownWord)
	}
	return e, nil
}

// Temporality implements [metric.Exporter].
func (e *metricExporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

// Aggregation implements [metric.Exporter].
func (e *metricExporter) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return e.aggregation(k)
}

// ForceFlush implements [metric.Exporter]. Nothing is buffered here.
func (e *metricExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown implements [metric.Exporter].
func (e *metricExporter) Shutdown(ctx context.Context) error {
	e.closed.Store(true)
	e.stop()
	return ctx.Err()
}

var errShutDown = errors.New("the exporter is shut down")

// Export implements [metric.Exporter].
func (e *metricExporter) Export(ctx context.Context, in *metricdata.ResourceMetrics) error {
	if e.closed.Load() {
		return errShutDown
	}
	if in == nil || len(in.ScopeMetrics) == 0 {
		return nil
	}
	return e.send(ctx, metricsOf(in))
}

// The field numbers are those of opentelemetry/proto/metrics/v1/metrics.proto.

// metricsOf encodes an ExportMetricsServiceRequest.
func metricsOf(in *metricdata.ResourceMetrics) (m message) {
	about := resourceOf(in.Resource)
	for i := range in.ScopeMetrics {
		s := &in.ScopeMetrics[i]
		scope := scopeOf(s.Scope)
		for j := range s.Metrics {
			if one, ok := metricOf(&s.Metrics[j]); ok {
				scope.message(2, one)
			}
		}
		about.message(2, scope)
	}
	m.message(1, about)
	return m
}

// metricOf encodes a metric. ok is false for a kind that OTLP does not have.
func metricOf(in *metricdata.Metrics) (m message, ok bool) {
	m.text(1, in.Name)
	m.text(2, in.Description)
	m.text(3, in.Unit)
	switch d := in.Data.(type) {
	case metricdata.Gauge[int64]:
		m.message(5, numbers(d.DataPoints))
	case metricdata.Gauge[float64]:
		m.message(5, numbers(d.DataPoints))
	case metricdata.Sum[int64]:
		m.message(7, sumOf(d))
	case metricdata.Sum[float64]:
		m.message(7, sumOf(d))
	case metricdata.Histogram[int64]:
		m.message(9, histogramOf(d))
	case metricdata.Histogram[float64]:
		m.message(9, histogramOf(d))
	case metricdata.ExponentialHistogram[int64]:
		m.message(10, exponentialOf(d))
	case metricdata.ExponentialHistogram[float64]:
		m.message(10, exponentialOf(d))
	case metricdata.Summary:
		m.message(11, summaryOf(d))
	default:
		return nil, false
	}
	return m, true
}

type number interface{ int64 | float64 }

func sumOf[N number](d metricdata.Sum[N]) message {
	m := numbers(d.DataPoints)
	m.varint(2, temporalityOf(d.Temporality))
	m.bool(3, d.IsMonotonic)
	return m
}

func numbers[N number](points []metricdata.DataPoint[N]) (m message) {
	for _, p := range points {
		var point message
		point.fixed64(2, nano(p.StartTime))
		point.fixed64(3, nano(p.Time))
		value(&point, 4, 6, p.Value)
		exemplars(&point, 5, p.Exemplars)
		point.iterated(7, p.Attributes.Iter())
		m.message(1, point)
	}
	return m
}

// value appends a number to the field of its kind, even if it is zero.
func value[N number](m *message, double, whole int, n N) {
	switch v := any(n).(type) {
	case float64:
		m.presentDouble(double, v)
	case int64:
		m.presentFixed64(whole, uint64(v))
	}
}

func histogramOf[N number](d metricdata.Histogram[N]) (m message) {
	for _, p := range d.DataPoints {
		var point, counts, bounds message
		for _, n := range p.BucketCounts {
			counts = binary.LittleEndian.AppendUint64(counts, n)
		}
		for _, bound := range p.Bounds {
			bounds = binary.LittleEndian.AppendUint64(bounds, math.Float64bits(bound))
		}
		point.fixed64(2, nano(p.StartTime))
		point.fixed64(3, nano(p.Time))
		point.fixed64(4, p.Count)
		point.presentDouble(5, float64(p.Sum))
		point.bytes(6, counts)
		point.bytes(7, bounds)
		exemplars(&point, 8, p.Exemplars)
		point.iterated(9, p.Attributes.Iter())
		point.maybe(11, extreme(p.Min))
		point.maybe(12, extreme(p.Max))
		m.message(1, point)
	}
	m.varint(2, temporalityOf(d.Temporality))
	return m
}

func exponentialOf[N number](d metricdata.ExponentialHistogram[N]) (m message) {
	for _, p := range d.DataPoints {
		var point message
		point.iterated(1, p.Attributes.Iter())
		point.fixed64(2, nano(p.StartTime))
		point.fixed64(3, nano(p.Time))
		point.fixed64(4, p.Count)
		point.presentDouble(5, float64(p.Sum))
		point.zigzag(6, p.Scale)
		point.fixed64(7, p.ZeroCount)
		point.message(8, bucketsOf(p.PositiveBucket))
		point.message(9, bucketsOf(p.NegativeBucket))
		exemplars(&point, 11, p.Exemplars)
		point.maybe(12, extreme(p.Min))
		point.maybe(13, extreme(p.Max))
		point.double(14, p.ZeroThreshold)
		m.message(1, point)
	}
	m.varint(2, temporalityOf(d.Temporality))
	return m
}

func bucketsOf(b metricdata.ExponentialBucket) (m message) {
	var counts message
	for _, n := range b.Counts {
		counts = binary.AppendUvarint(counts, n)
	}
	m.zigzag(1, b.Offset)
	m.bytes(2, counts)
	return m
}

func summaryOf(d metricdata.Summary) (m message) {
	for _, p := range d.DataPoints {
		var point message
		point.fixed64(2, nano(p.StartTime))
		point.fixed64(3, nano(p.Time))
		point.fixed64(4, p.Count)
		point.double(5, p.Sum)
		for _, q := range p.QuantileValues {
			var quantile message
			quantile.double(1, q.Quantile)
			quantile.double(2, q.Value)
			point.message(6, quantile)
		}
		point.iterated(7, p.Attributes.Iter())
		m.message(1, point)
	}
	return m
}

func extreme[N number](e metricdata.Extrema[N]) *float64 {
	v, there := e.Value()
	if !there {
		return nil
	}
	f := float64(v)
	return &f
}

func exemplars[N number](m *message, field int, all []metricdata.Exemplar[N]) {
	for _, e := range all {
		var one message
		one.fixed64(2, nano(e.Time))
		value(&one, 3, 6, e.Value)
		one.bytes(4, e.SpanID)
		one.bytes(5, e.TraceID)
		one.attributes(7, e.FilteredAttributes)
		m.message(field, one)
	}
}

func temporalityOf(t metricdata.Temporality) uint64 {
	switch t {
	case metricdata.DeltaTemporality:
		return 1
	case metricdata.CumulativeTemporality:
		return 2
	default:
		return 0
	}
}
