// Package otlp_test compares what package telemetry/otlp sends with what OpenTelemetry's own
// exporters over HTTP send of the same metrics and spans.
package otlp_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/braidrun/braid/telemetry/otlp"
)

// collector keeps what it is sent.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	traces  []*tracepb.ExportTraceServiceRequest
	metrics []*metricspb.ExportMetricsServiceRequest
	headers []http.Header
}

func collect(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		c.headers = append(c.headers, r.Header)
		if r.URL.Path == "/v1/traces" {
			in := &tracepb.ExportTraceServiceRequest{}
			err = proto.Unmarshal(data, in)
			c.traces = append(c.traces, in)
		} else {
			in := &metricspb.ExportMetricsServiceRequest{}
			err = proto.Unmarshal(data, in)
			c.metrics = append(c.metrics, in)
		}
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// measure uses an instrument of each kind, with attributes of each kind.
func measure(t *testing.T, p metric.MeterProvider) {
	m := p.Meter("scope", metric.WithInstrumentationVersion("1"), metric.WithInstrumentationAttributes(attribute.Bool("scoped", true)))
	with := metric.WithAttributes(
		attribute.String("s", "ä"), attribute.Int("i", -3), attribute.Float64("f", 0.5), attribute.Bool("b", true), attribute.StringSlice("ss", []string{"a", "b"}),
		attribute.IntSlice("is", []int{1, 2}), attribute.Float64Slice("fs", []float64{1.5}), attribute.BoolSlice("bs", []bool{true, false}),
	)
	ctx := t.Context()
	ic, e1 := m.Int64Counter("ic", metric.WithUnit("{x}"), metric.WithDescription("d"))
	fc, e2 := m.Float64Counter("fc")
	ud, e3 := m.Int64UpDownCounter("ud")
	ih, e4 := m.Int64Histogram("ih")
	fh, e5 := m.Float64Histogram("fh", metric.WithExplicitBucketBoundaries(1, 2))
	ig, e6 := m.Int64Gauge("ig")
	fg, e7 := m.Float64Gauge("fg")
	for _, err := range []error{e1, e2, e3, e4, e5, e6, e7} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ic.Add(ctx, 5, with)
	fc.Add(ctx, 0.25, with)
	ud.Add(ctx, -2)
	for n := range 5 {
		ih.Record(ctx, int64(n*n*10), with)
		fh.Record(ctx, float64(n)-1, with)
	}
	ig.Record(ctx, 7)
	fg.Record(ctx, -7.5, with)
}

func span(t *testing.T, p trace.TracerProvider) {
	ctx, s := p.Tracer("scope").Start(t.Context(), "outer", trace.WithAttributes(attribute.String("k", "v")))
	_, in := p.Tracer("scope").Start(ctx, "inner")
	in.AddEvent("e", trace.WithAttributes(attribute.Int("n", 1)))
	in.End()
	s.End()
}

func TestMetricsAsTheOfficialExporterSends(t *testing.T) {
	for _, words := range []struct{ temporality, histogram string }{
		{"", ""}, {"delta", ""}, {"lowmemory", "base2_exponential_bucket_histogram"}, {"cumulative", "explicit_bucket_histogram"},
	} {
		theirs, ours := collect(t), collect(t)
		t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", words.temporality)
		t.Setenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", words.histogram)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", theirs.URL)
		exporter, err := otlpmetrichttp.New(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		about := resource.NewWithAttributes("", attribute.String("service.name", "s"))
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithResource(about))
		measure(t, provider)
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", ours.URL)
		t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
		out := open(t)
		measure(t, out.Options().MeterProvider)
		if err := out.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "")
		if len(theirs.metrics) != 1 || len(ours.metrics) != 1 {
			t.Fatalf("%d and %d requests", len(theirs.metrics), len(ours.metrics))
		}
		a, b := theirs.metrics[0], ours.metrics[0]
		for _, m := range []*metricspb.ExportMetricsServiceRequest{a, b} {
			m.GetResourceMetrics()[0].Resource, m.GetResourceMetrics()[0].SchemaUrl = nil, ""
			timeless(m.ProtoReflect())
		}
		if diff := cmp.Diff(a, b, protocmp.Transform()); diff != "" {
			t.Errorf("%+v (-theirs +ours):\n%s", words, diff)
		}
	}
}

func TestSpansAsTheOfficialExporterSends(t *testing.T) {
	theirs, ours := collect(t), collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", theirs.URL)
	exporter, err := otlptracehttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	span(t, provider)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", ours.URL)
	out := open(t)
	span(t, out.Options().TracerProvider)
	if err := out.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := theirs.traces[0], ours.traces[0]
	for _, m := range []*tracepb.ExportTraceServiceRequest{a, b} {
		m.GetResourceSpans()[0].Resource, m.GetResourceSpans()[0].SchemaUrl = nil, ""
		timeless(m.ProtoReflect())
		for _, s := range m.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			s.SpanId, s.TraceId, s.ParentSpanId = nil, nil, nil
		}
	}
	if diff := cmp.Diff(a, b, protocmp.Transform()); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}

func open(t *testing.T) *otlp.Output {
	out, err := otlp.Open(t.Context(), otlp.Service{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = out.Close(ctx)
	})
	return out
}

// timeless clears every time of a message.
func timeless(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() == protoreflect.Fixed64Kind && (f.Name() == "time_unix_nano" || f.Name() == "start_time_unix_nano" || f.Name() == "end_time_unix_nano"):
			m.Clear(f)
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				timeless(v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind && !f.IsMap():
			timeless(v.Message())
		}
		return true
	})
}
