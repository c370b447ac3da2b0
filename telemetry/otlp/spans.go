package otlp

import (
	"context"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// spanExporter sends spans. It implements [trace.SpanExporter].
type spanExporter struct{ *sender }

// ExportSpans implements [trace.SpanExporter].
func (e spanExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	return e.send(ctx, tracesOf(spans))
}

// Shutdown implements [trace.SpanExporter].
func (e spanExporter) Shutdown(ctx context.Context) error {
	e.stop()
	return ctx.Err()
}

// The numbers of fields are those of opentelemetry/proto/trace/v1/trace.proto.

// tracesOf writes an ExportTraceServiceRequest: the spans of each resource, and therein of each instrumentation.
func tracesOf(spans []trace.ReadOnlySpan) (m message) {
	type scoped struct {
		scope instrumentation.Scope
		spans message
	}
	type sent struct {
		about  message
		scopes []*scoped
	}
	var all []*sent
	resources := make(map[attribute.Distinct]*sent)
	for _, s := range spans {
		key := s.Resource().Equivalent()
		r := resources[key]
		if r == nil {
			r = &sent{about: resourceOf(s.Resource())}
			resources[key] = r
			all = append(all, r)
		}
		var in *scoped
		for _, known := range r.scopes {
			if known.scope == s.InstrumentationScope() {
				in = known
			}
		}
		if in == nil {
			in = &scoped{scope: s.InstrumentationScope()}
			r.scopes = append(r.scopes, in)
		}
		in.spans.message(2, spanOf(s))
	}
	for _, r := range all {
		for _, s := range r.scopes {
			r.about.message(2, append(scopeOf(s.scope), s.spans...))
		}
		m.message(1, r.about)
	}
	return m
}

func spanOf(s trace.ReadOnlySpan) (m message) {
	own := s.SpanContext()
	traceID, id := own.TraceID(), own.SpanID()
	m.message(1, traceID[:])
	m.message(2, id[:])
	m.text(3, own.TraceState().String())
	if parent := s.Parent().SpanID(); parent.IsValid() {
		m.message(4, parent[:])
	}
	m.text(5, s.Name())
	m.varint(6, kindOf(s.SpanKind()))
	m.fixed64(7, nano(s.StartTime()))
	m.fixed64(8, nano(s.EndTime()))
	m.attributes(9, s.Attributes())
	m.varint(10, count(s.DroppedAttributes()))
	for _, e := range s.Events() {
		var event message
		event.fixed64(1, nano(e.Time))
		event.text(2, e.Name)
		event.attributes(3, e.Attributes)
		event.varint(4, count(e.DroppedAttributeCount))
		m.message(11, event)
	}
	m.varint(12, count(s.DroppedEvents()))
	for _, l := range s.Links() {
		m.message(13, linkOf(l))
	}
	m.varint(14, count(s.DroppedLinks()))
	m.message(15, statusOf(s.Status()))
	m.fixed32(16, flagsOf(own.TraceFlags(), s.Parent()))
	return m
}

func linkOf(l trace.Link) (m message) {
	traceID, id := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	m.message(1, traceID[:])
	m.message(2, id[:])
	m.text(3, l.SpanContext.TraceState().String())
	m.attributes(4, l.Attributes)
	m.varint(5, count(l.DroppedAttributeCount))
	m.fixed32(6, flagsOf(l.SpanContext.TraceFlags(), l.SpanContext))
	return m
}

func statusOf(s trace.Status) (m message) {
	m.text(2, s.Description)
	switch s.Code {
	case codes.Ok:
		m.varint(3, 1)
	case codes.Error:
		m.varint(3, 2)
	case codes.Unset:
	}
	return m
}

func kindOf(k oteltrace.SpanKind) uint64 {
	switch k {
	case oteltrace.SpanKindInternal:
		return 1
	case oteltrace.SpanKindServer:
		return 2
	case oteltrace.SpanKindClient:
		return 3
	case oteltrace.SpanKindProducer:
		return 4
	case oteltrace.SpanKindConsumer:
		return 5
	default:
		return 0
	}
}

// flagsOf has the flags of the trace in its lowest bits, and above them that it is known whether the other span is
// in another process, and whether it is.
func flagsOf(f oteltrace.TraceFlags, other oteltrace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	flags := uint32(f) | known
	if other.IsRemote() {
		flags |= remote
	}
	return flags
}

func count(n int) uint64 { return uint64(min(max(n, 0), math.MaxUint32)) }
