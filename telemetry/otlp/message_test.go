package otlp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// kept is a client of OpenTelemetry's own exporter that keeps what that makes of spans.
type kept struct{ spans []*tracepb.ResourceSpans }

func (*kept) Start(context.Context) error { return nil }
func (*kept) Stop(context.Context) error  { return nil }
func (k *kept) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	k.spans = spans
	return nil
}

func every() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("s", "ä"), attribute.String("empty", ""), attribute.Int("i", -3), attribute.Int("zero", 0), attribute.Float64("f", .5),
		attribute.Float64("f0", 0), attribute.Bool("b", true), attribute.Bool("no", false), attribute.StringSlice("ss", []string{"a", ""}),
		attribute.IntSlice("is", []int{1, -2, 0}), attribute.Float64Slice("fs", []float64{1.5, math.Inf(-1)}), attribute.BoolSlice("bs", []bool{true, false}),
		attribute.StringSlice("none", nil),
		{Key: "nothing"},
		attribute.Int64("most", math.MaxInt64), attribute.Int64("least", math.MinInt64),
		{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 1, 255})},
		{Key: "slice", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))},
		{Key: "map", Value: attribute.MapValue(attribute.String("in", "side"))},
	}
}

// Spans are written as OpenTelemetry's own exporter writes them.
func TestSpansAsTheOfficialExporterWrites(t *testing.T) {
	t.Parallel()
	state, err := oteltrace.ParseTraceState("vendor=1")
	if err != nil {
		t.Fatal(err)
	}
	at := func(n byte, remote bool) oteltrace.SpanContext {
		return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: oteltrace.TraceID{1, n}, SpanID: oteltrace.SpanID{2, n}, TraceFlags: oteltrace.FlagsSampled, TraceState: state, Remote: remote,
		})
	}
	now := time.Unix(1_800_000_000, 7)
	one := resource.NewWithAttributes("https://schema.example/1", every()...)
	two := resource.NewSchemaless(attribute.String("service.name", "b"))
	scope := instrumentation.Scope{Name: "scope", Version: "1", SchemaURL: "https://schema.example/2", Attributes: attribute.NewSet(every()...)}
	stubs := tracetest.SpanStubs{
		{
			Name: "outer", SpanContext: at(1, false), SpanKind: oteltrace.SpanKindServer, Parent: at(9, true), StartTime: now, EndTime: now.Add(time.Second),
			Attributes: every(), Status: trace.Status{Code: codes.Error, Description: "bad"}, Resource: one, InstrumentationScope: scope,
			Events: []trace.Event{{Name: "e", Time: now, Attributes: every(), DroppedAttributeCount: 3}, {}},
			Links:  []trace.Link{{SpanContext: at(3, true), Attributes: every(), DroppedAttributeCount: 2}},

			DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: math.MaxInt64,
		},
		{Name: "", Resource: two, InstrumentationScope: scope},
		{
			Name: "inner", SpanContext: at(2, false), Parent: at(1, false), SpanKind: oteltrace.SpanKindInternal, Resource: one, StartTime: now,
			InstrumentationScope: instrumentation.Scope{Name: "other"}, Status: trace.Status{Code: codes.Ok}, DroppedEvents: -1,
		},
		{Name: "again", SpanContext: at(4, false), SpanKind: oteltrace.SpanKindConsumer, Resource: one, InstrumentationScope: scope},
		{Name: "client", SpanKind: oteltrace.SpanKindClient, Resource: one, InstrumentationScope: scope},
		{Name: "producer", SpanKind: oteltrace.SpanKindProducer, Resource: one, InstrumentationScope: scope},
	}
	theirs := &kept{}
	if err := otlptrace.NewUnstarted(theirs).ExportSpans(t.Context(), stubs.Snapshots()); err != nil {
		t.Fatal(err)
	}
	ours := &tracepb.TracesData{}
	if err := proto.Unmarshal(tracesOf(stubs.Snapshots()), ours); err != nil {
		t.Fatal(err)
	}
	for _, r := range ours.GetResourceSpans() { // which the official exporter forgets
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				for _, l := range span.GetLinks() {
					if l.GetTraceState() != "vendor=1" {
						t.Errorf("the link has the state %q", l.GetTraceState())
					}
					l.TraceState = ""
				}
			}
		}
	}
	byAbout := protocmp.SortRepeated(func(a, b *tracepb.ResourceSpans) bool { return a.GetSchemaUrl() < b.GetSchemaUrl() })
	if diff := cmp.Diff(&tracepb.TracesData{ResourceSpans: theirs.spans}, ours, protocmp.Transform(), byAbout); diff != "" {
		t.Error(diff)
	}
}

// What the official exporter is not compared with: points of time before 1970, text that is no UTF-8, and all kinds of metrics
// with exemplars. test/vendors compares the rest.
func TestMetricsAreWritten(t *testing.T) {
	t.Parallel()
	now, bad := time.Unix(1_800_000_000, 9), "no \xff utf8"
	set := attribute.NewSet(attribute.String("k", bad))
	whole := []metricdata.Exemplar[int64]{{Value: -4, Time: now, SpanID: []byte{1}, TraceID: []byte{2}, FilteredAttributes: every()}}
	broken := []metricdata.Exemplar[float64]{{Value: 0, Time: now}}
	in := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: bad, Unit: "{x}", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Time: time.Unix(-5, 0), Exemplars: whole}}}},
		{Name: "sum", Data: metricdata.Sum[float64]{
			IsMonotonic: true, Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[float64]{{Value: -2.5, StartTime: now, Exemplars: broken}},
		}},
		{Name: "histogram", Data: metricdata.Histogram[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[int64]{{
			Count: 3, Sum: -7, Bounds: []float64{-1, 0}, BucketCounts: []uint64{1, 0, math.MaxUint64}, Min: metricdata.NewExtrema[int64](-9),
		}}}},
		{Name: "exponential", Data: metricdata.ExponentialHistogram[float64]{DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
			Scale: -3, ZeroCount: 2, ZeroThreshold: .25, PositiveBucket: metricdata.ExponentialBucket{Offset: math.MinInt32, Counts: []uint64{300, 0}},
			Max: metricdata.NewExtrema(.0),
		}}}},
		{Name: "summary", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
			Count: 4, Sum: 2, QuantileValues: []metricdata.QuantileValue{{Quantile: 0, Value: 1}, {Quantile: .5}},
		}}}},
		{Name: "nothing"},
	}}}}
	got := &metricspb.MetricsData{}
	if err := proto.Unmarshal(metricsOf(in), got); err != nil {
		t.Fatal(err)
	}
	all := got.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()
	if len(all) != 5 {
		t.Fatalf("there are %d metrics", len(all))
	}
	gauge := all[0].GetGauge().GetDataPoints()[0]
	if all[0].GetName() != "no \uFFFD utf8" || all[0].GetUnit() != "{x}" || gauge.GetTimeUnixNano() != 0 || gauge.GetAttributes()[0].GetValue().GetStringValue() != "no \uFFFD utf8" ||
		gauge.Value == nil || gauge.GetExemplars()[0].GetAsInt() != -4 || len(gauge.GetExemplars()[0].GetFilteredAttributes()) != len(every()) || gauge.GetExemplars()[0].GetSpanId()[0] != 1 {
		t.Errorf("the gauge is %v", all[0])
	}
	if s := all[1].GetSum(); !s.GetIsMonotonic() || s.GetAggregationTemporality() != 1 || s.GetDataPoints()[0].GetAsDouble() != -2.5 ||
		s.GetDataPoints()[0].GetStartTimeUnixNano() != uint64(now.UnixNano()) || s.GetDataPoints()[0].GetExemplars()[0].Value == nil {
		t.Errorf("the sum is %v", s)
	}
	h := all[2].GetHistogram()
	if p := h.GetDataPoints()[0]; h.GetAggregationTemporality() != 2 || p.GetSum() != -7 || len(p.GetExplicitBounds()) != 2 || p.GetBucketCounts()[2] != math.MaxUint64 || p.GetMin() != -9 || p.Max != nil {
		t.Errorf("the histogram is %v", h)
	}
	if p := all[3].GetExponentialHistogram().GetDataPoints()[0]; p.GetScale() != -3 || p.GetPositive().GetOffset() != math.MinInt32 ||
		p.GetPositive().GetBucketCounts()[0] != 300 || len(p.GetPositive().GetBucketCounts()) != 2 || p.GetNegative() == nil || p.Max == nil || p.Min != nil || p.GetZeroThreshold() != .25 {
		t.Errorf("the exponential histogram is %v", p)
	}
	if p := all[4].GetSummary().GetDataPoints()[0]; p.GetCount() != 4 || len(p.GetQuantileValues()) != 2 || p.GetQuantileValues()[1].GetQuantile() != .5 {
		t.Errorf("the summary is %v", p)
	}
}

// What a collector answers may be anything.
func TestAnswersThatAreNoMessage(t *testing.T) {
	t.Parallel()
	var m, partial message
	partial.varint(1, 3)
	partial.text(2, "too old")
	m.fixed32(9, 5)
	m.fixed64(8, 5)
	m.message(1, partial)
	if n, why := rejected(m); n != 3 || why != "too old" {
		t.Errorf("got %d, %q", n, why)
	}
	for cut := range m {
		_, _ = rejected(m[:cut])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		_, _ = rejected(b)
	}
}
