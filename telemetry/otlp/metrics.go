package otlp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// metricExporter sends metrics. It implements [metric.Exporter].
type metricExporter struct {
	*sender

	temporality metric.TemporalitySelector
	aggregation metric.AggregationSelector
	closed      atomic.Bool
}

// The variables that only metrics have.
const (
	temporalityPreference = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
	histogramAggregation  = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
)

var errUnknownWord = errors.New("it is none of the words that the specification has")

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

// ForceFlush implements [metric.Exporter]: nothing is kept here.
func (e *metricExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown implements [metric.Exporter].
func (e *metricExporter) Shutdown(ctx context.Context) error {
	e.closed.Store(true)
	e.stop()
	return ctx.Err()
}

var errShutDown = errors.New("the exporter is shut down")

// Export implements [metric.Exporter]. MetricsData has the same wire form as
// ExportMetricsServiceRequest, whose package links grpc.
func (e *metricExporter) Export(ctx context.Context, in *metricdata.ResourceMetrics) error {
	if e.closed.Load() {
		return errShutDown
	}
	if in == nil || len(in.ScopeMetrics) == 0 {
		return nil
	}
	out := &metricspb.ResourceMetrics{}
	if in.Resource != nil {
		out.Resource = &resourcepb.Resource{Attributes: keyValues(in.Resource.Iter())}
		out.SchemaUrl = in.Resource.SchemaURL()
	}
	for i := range in.ScopeMetrics {
		s := &in.ScopeMetrics[i]
		scope := &metricspb.ScopeMetrics{
			SchemaUrl: s.Scope.SchemaURL,
			Scope: &commonpb.InstrumentationScope{
				Name: s.Scope.Name, Version: s.Scope.Version, Attributes: keyValues(s.Scope.Attributes.Iter()),
			},
		}
		for j := range s.Metrics {
			if m := metricOf(&s.Metrics[j]); m != nil {
				scope.Metrics = append(scope.Metrics, m)
			}
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return e.send(ctx, &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{out}})
}

// metricOf gives a metric in OTLP's form; nil for a kind that it does not have.
func metricOf(m *metricdata.Metrics) *metricspb.Metric {
	out := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(d.DataPoints)}}
	case metricdata.Gauge[float64]:
		out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(d.DataPoints)}}
	case metricdata.Sum[int64]:
		out.Data = sumOf(d)
	case metricdata.Sum[float64]:
		out.Data = sumOf(d)
	case metricdata.Histogram[int64]:
		out.Data = histogramOf(d)
	case metricdata.Histogram[float64]:
		out.Data = histogramOf(d)
	case metricdata.ExponentialHistogram[int64]:
		out.Data = exponentialOf(d)
	case metricdata.ExponentialHistogram[float64]:
		out.Data = exponentialOf(d)
	case metricdata.Summary:
		s := &metricspb.Summary{}
		for _, p := range d.DataPoints {
			point := &metricspb.SummaryDataPoint{
				Attributes: keyValues(p.Attributes.Iter()), StartTimeUnixNano: nano(p.StartTime),
				TimeUnixNano: nano(p.Time), Count: p.Count, Sum: p.Sum,
			}
			for _, q := range p.QuantileValues {
				point.QuantileValues = append(point.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q.Quantile, Value: q.Value})
			}
			s.DataPoints = append(s.DataPoints, point)
		}
		out.Data = &metricspb.Metric_Summary{Summary: s}
	default:
		return nil
	}
	return out
}

type number interface{ int64 | float64 }

func sumOf[N number](d metricdata.Sum[N]) *metricspb.Metric_Sum {
	return &metricspb.Metric_Sum{Sum: &metricspb.Sum{
		AggregationTemporality: temporalityOf(d.Temporality), IsMonotonic: d.IsMonotonic, DataPoints: numbers(d.DataPoints),
	}}
}

func numbers[N number](points []metricdata.DataPoint[N]) []*metricspb.NumberDataPoint {
	out := make([]*metricspb.NumberDataPoint, len(points))
	for i, p := range points {
		out[i] = &metricspb.NumberDataPoint{
			Attributes: keyValues(p.Attributes.Iter()), StartTimeUnixNano: nano(p.StartTime),
			TimeUnixNano: nano(p.Time), Exemplars: exemplars(p.Exemplars),
		}
		switch v := any(p.Value).(type) {
		case int64:
			out[i].Value = &metricspb.NumberDataPoint_AsInt{AsInt: v}
		case float64:
			out[i].Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: v}
		}
	}
	return out
}

func histogramOf[N number](d metricdata.Histogram[N]) *metricspb.Metric_Histogram {
	out := &metricspb.Histogram{AggregationTemporality: temporalityOf(d.Temporality)}
	for _, p := range d.DataPoints {
		sum := float64(p.Sum)
		out.DataPoints = append(out.DataPoints, &metricspb.HistogramDataPoint{
			Attributes: keyValues(p.Attributes.Iter()), StartTimeUnixNano: nano(p.StartTime), TimeUnixNano: nano(p.Time), Count: p.Count, Sum: &sum,
			BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds, Min: extreme(p.Min), Max: extreme(p.Max), Exemplars: exemplars(p.Exemplars),
		})
	}
	return &metricspb.Metric_Histogram{Histogram: out}
}

func exponentialOf[N number](d metricdata.ExponentialHistogram[N]) *metricspb.Metric_ExponentialHistogram {
	out := &metricspb.ExponentialHistogram{AggregationTemporality: temporalityOf(d.Temporality)}
	for _, p := range d.DataPoints {
		sum := float64(p.Sum)
		out.DataPoints = append(out.DataPoints, &metricspb.ExponentialHistogramDataPoint{
			Attributes: keyValues(p.Attributes.Iter()), StartTimeUnixNano: nano(p.StartTime), TimeUnixNano: nano(p.Time), Count: p.Count, Sum: &sum,
			Scale: p.Scale, ZeroCount: p.ZeroCount, ZeroThreshold: p.ZeroThreshold, Min: extreme(p.Min), Max: extreme(p.Max),
			Positive:  &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: p.PositiveBucket.Offset, BucketCounts: p.PositiveBucket.Counts},
			Negative:  &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: p.NegativeBucket.Offset, BucketCounts: p.NegativeBucket.Counts},
			Exemplars: exemplars(p.Exemplars),
		})
	}
	return &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: out}
}

func extreme[N number](e metricdata.Extrema[N]) *float64 {
	v, there := e.Value()
	if !there {
		return nil
	}
	f := float64(v)
	return &f
}

func exemplars[N number](list []metricdata.Exemplar[N]) []*metricspb.Exemplar {
	var out []*metricspb.Exemplar
	for _, e := range list {
		one := &metricspb.Exemplar{TimeUnixNano: nano(e.Time), SpanId: e.SpanID, TraceId: e.TraceID}
		for _, a := range e.FilteredAttributes {
			one.FilteredAttributes = append(one.FilteredAttributes, keyValue(a))
		}
		switch v := any(e.Value).(type) {
		case int64:
			one.Value = &metricspb.Exemplar_AsInt{AsInt: v}
		case float64:
			one.Value = &metricspb.Exemplar_AsDouble{AsDouble: v}
		}
		out = append(out, one)
	}
	return out
}

func temporalityOf(t metricdata.Temporality) metricspb.AggregationTemporality {
	switch t {
	case metricdata.DeltaTemporality:
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	case metricdata.CumulativeTemporality:
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	default:
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED
	}
}

func nano(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(0, t.UnixNano()))
}

func keyValues(in attribute.Iterator) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, 0, in.Len())
	for in.Next() {
		out = append(out, keyValue(in.Attribute()))
	}
	return out
}

func keyValue(a attribute.KeyValue) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: string(a.Key), Value: anyValue(a.Value)}
}

func anyValue(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.AsString()}}
	case attribute.BOOLSLICE:
		return list(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return list(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return list(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return list(v.AsStringSlice(), attribute.StringValue)
	default:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.String()}}
	}
}

func list[T any](values []T, of func(T) attribute.Value) *commonpb.AnyValue {
	out := &commonpb.ArrayValue{}
	for _, v := range values {
		out.Values = append(out.Values, anyValue(of(v)))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: out}}
}
