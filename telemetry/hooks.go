package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/hook"
)

// Options configure telemetry. The zero value sends nothing.
type Options struct {
	// TracerProvider gets the spans. nil means no spans.
	TracerProvider trace.TracerProvider
	// MeterProvider gets the metrics. nil means no metrics. Without both, a run costs the same as without telemetry.
	MeterProvider metric.MeterProvider
	// Content adds content to spans: messages, arguments and results. Pictures and files appear as
	// type and size. Content that was redacted before a span ended is not on it.
	Content bool
	// Version is the program's version, for the instrumentation scope.
	Version string
}

// scope is the name of the instrumentation scope.
const scope = "github.com/braidrun/braid/telemetry"

// Hooks returns the part that reports what an agent does. One part may be given to any number of
// agents. It also covers their sub-agents, which need no part of their own. It returns the meter
// provider's error.
//
// The hooks run on the driver's goroutine and wait for nothing: a provider exports in its own time.
// They change nothing and never fail.
func Hooks(o Options) (braid.Part, error) {
	if o.TracerProvider == nil && o.MeterProvider == nil {
		return braid.On(passed, braid.Order(first)), nil
	}
	t := &telemetry{content: o.Content}
	if o.TracerProvider == nil {
		o.TracerProvider = tracenoop.NewTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = metricnoop.NewMeterProvider()
	}
	t.tracer = o.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(o.Version), trace.WithSchemaURL(schemaURL))
	meter := o.MeterProvider.Meter(scope, metric.WithInstrumentationVersion(o.Version), metric.WithSchemaURL(schemaURL))
	var err error
	if t.instruments, err = newInstruments(meter); err != nil {
		return nil, err
	}
	// Around other hooks, so that their work is inside the spans.
	return braid.Parts(
		braid.On(t.taken, braid.Order(first)),
		braid.On(t.sent, braid.Order(first)),
		braid.On(t.left, braid.Order(last)),
	), nil
}

// first and last order the hooks around all others.
const (
	first = -1 << 30
	last  = 1 << 30
)

// telemetry is the state that the hooks of one part share. It is immutable.
type telemetry struct {
	tracer      trace.Tracer
	instruments *instruments
	content     bool
}

// passed only passes the trace of a run on to its models and tools. It is used without providers.
func passed(ctx context.Context, e *hook.BeforeDrive) error {
	switch here := trace.SpanContextFromContext(ctx); {
	case here.IsValid() && e.Trace == "":
		e.Trace = formatTrace(here)
	case !here.IsValid() && e.Trace != "":
		if origin := parseTrace(e.Trace); origin.IsValid() {
			e.Context = trace.ContextWithRemoteSpanContext(e.Context, origin)
		}
	}
	return nil
}

// driveKey is the context key of a drive, for each part its own.
type driveKey struct{ *telemetry }

// taken begins the span of a drive.
func (t *telemetry) taken(ctx context.Context, e *hook.BeforeDrive) error {
	d := &drive{telemetry: t, run: e.Run, conversation: e.Conversation}
	origin := parseTrace(e.Trace)
	switch {
	case trace.SpanContextFromContext(ctx).IsValid():
		if origin.IsValid() {
			d.links = []trace.Link{{SpanContext: origin}}
		}
	case origin.IsValid():
		ctx = trace.ContextWithRemoteSpanContext(ctx, origin)
	}
	d.begin(ctx, e)
	if e.Trace == "" {
		e.Trace = formatTrace(trace.SpanContextFromContext(d.ctx))
	}
	e.Context = context.WithValue(d.ctx, driveKey{t}, d)
	return nil
}

// sent adds an event to the drive's spans.
func (t *telemetry) sent(ctx context.Context, e *hook.EventSent) error {
	if d, ok := ctx.Value(driveKey{t}).(*drive); ok {
		d.event(e)
	}
	return nil
}

// left ends the open spans of the drive.
func (t *telemetry) left(ctx context.Context, e *hook.AfterDrive) error {
	if d, ok := ctx.Value(driveKey{t}).(*drive); ok {
		d.end(e)
	}
	return nil
}

// These are the fields of the W3C trace context. A run's label contains the traceparent and, after
// a space, the tracestate if there is one.
const (
	fieldParent = "traceparent"
	fieldState  = "tracestate"
)

// parseTrace parses a span context. It returns an invalid one for an invalid text.
func parseTrace(s string) trace.SpanContext {
	if s == "" {
		return trace.SpanContext{}
	}
	parent, state, _ := strings.Cut(s, " ")
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{fieldParent: parent, fieldState: state})
	return trace.SpanContextFromContext(ctx)
}

// formatTrace formats a span context. It returns "" for an invalid one.
func formatTrace(sc trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return strings.TrimSpace(carrier[fieldParent] + " " + carrier[fieldState])
}
