package telemetry_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that gives one answer after the other; an error is one too.
type script struct {
	name    string
	answers []any
	asked   *[]context.Context
	n       atomic.Int64
}

func (s *script) Info() model.Info {
	return model.Info{Name: s.name, Cost: func(event.Usage) (int64, bool) { return 2_000_000, true }}
}

func (s *script) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if s.asked != nil {
			*s.asked = append(*s.asked, ctx)
		}
		switch a := s.answers[min(int(s.n.Add(1)), len(s.answers))-1].(type) {
		case error:
			yield(model.Chunk{}, a)
		case []model.Chunk:
			for _, c := range a {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

var used = event.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2, Total: 20}

func says(text string) []model.Chunk {
	return []model.Chunk{
		{Kind: model.ChunkResponse, ID: "msg_1", Text: "m-2026"},
		{Kind: model.ChunkText, Text: text},
		{Kind: model.ChunkUsage, Usage: &used},
		{Kind: model.ChunkStop, Stop: event.StopEndTurn},
	}
}

func calls(pairs ...string) []model.Chunk {
	var list []model.Chunk
	for i := 0; i < len(pairs); i += 2 {
		list = append(list,
			model.Chunk{Kind: model.ChunkCall, Index: i, ID: fmt.Sprintf("c%d", i/2), Text: pairs[i]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: pairs[i+1]})
	}
	return append(list, model.Chunk{Kind: model.ChunkUsage, Usage: &used}, model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse})
}

// ear hears what is told.
type ear struct {
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	traces *trace.TracerProvider
	meters *metric.MeterProvider
}

func listen(t *testing.T) *ear {
	t.Helper()
	e := &ear{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	e.traces = trace.NewTracerProvider(trace.WithSyncer(e.spans))
	e.meters = metric.NewMeterProvider(metric.WithReader(e.reader))
	return e
}

func (e *ear) hooks(t *testing.T, content bool) braid.Part {
	t.Helper()
	part, err := telemetry.Hooks(telemetry.Options{TracerProvider: e.traces, MeterProvider: e.meters, Content: content, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// tree writes the spans as an indented tree, siblings in the order of their beginning.
func (e *ear) tree() string {
	var b strings.Builder
	spans := e.spans.GetSpans()
	known := map[string]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID().String()] = true
	}
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		var here []tracetest.SpanStub
		for _, s := range spans {
			p := s.Parent.SpanID().String()
			if p == parent || parent == "" && !known[p] {
				here = append(here, s)
			}
		}
		slices.SortStableFunc(here, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		for _, s := range here {
			fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), s.Name)
			if kind := value(s, "error.type"); kind != "" {
				fmt.Fprintf(&b, " error=%s status=%s", kind, s.Status.Code)
			}
			b.WriteByte('\n')
			write(s.SpanContext.SpanID().String(), depth+1)
		}
	}
	write("", 0)
	return b.String()
}

// span finds the only span of a name.
func (e *ear) span(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range e.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are called %q", len(found), name)
	}
	return found[0]
}

func value(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// points are the data points of an instrument, each as its attributes and what it counted.
func (e *ear) points(t *testing.T, name string) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := e.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var list []string
	add := func(set attribute.Set, n any) {
		list = append(list, fmt.Sprint(set.Encoded(attribute.DefaultEncoder()), "=", n))
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
