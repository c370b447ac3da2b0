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

// Options say where telemetry goes. The zero value goes nowhere.
type Options struct {
	// TracerProvider gets the spans, MeterProvider the metrics; nil for none. Without either, a run costs what it
	// costs without telemetry.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Content puts what people, models and tools say on spans: messages, arguments and
	// results. Pictures and files are told by their type and size. What was redacted
	// by the time that a span ends is not on it.
	Content bool
	// Version is that of the program, for the name of what makes the telemetry.
	Version string
}

// scope names what makes the telemetry.
const scope = "github.com/braidrun/braid/telemetry"

// Hooks makes the part that tells o what an agent does. One part may be given to any
// number of agents; those that the agent uses as tools are told of with it, and need none of
// their own. The error is the meter provider's.
//
// The hooks run on the driver's goroutine and wait for nobody: a provider hands on in its
// own time. They change nothing of what the agent does, and never fail.
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
	// Around the hooks of others, so that what these do is inside.
	return braid.Parts(
		braid.On(t.taken, braid.Order(first)),
		braid.On(t.sent, braid.Order(first)),
		braid.On(t.left, braid.Order(last)),
	), nil
}

// first and last place the hooks around those of others.
const (
	first = -1 << 30
	last  = 1 << 30
)

// telemetry is what the hooks of one part share. It never changes.
type telemetry struct {
	tracer      trace.Tracer
	instruments *instruments
	content     bool
}

// passed is all that is done where telemetry goes nowhere: the trace that a run came with is passed on to its
// models and tools, which may tell others of it.
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

// driveKey finds what is known of a drive in its context, for each part its own.
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

// sent follows the drive.
func (t *telemetry) sent(ctx context.Context, e *braid.EventSent) error {
	if d, ok := ctx.Value(driveKey{t}).(*drive); ok {
		d.event(e)
	}
	return nil
}

// left ends what is open of the drive.
func (t *telemetry) left(ctx context.Context, e *hook.AfterDrive) error {
	if d, ok := ctx.Value(driveKey{t}).(*drive); ok {
		d.end(e)
	}
	return nil
}

// The fields of the W3C trace context. What they carry in a run's label is the
// traceparent, and behind a space the tracestate where there is one.
const (
	fieldParent = "traceparent"
	fieldState  = "tracestate"
)

// parseTrace reads a place in a trace; it is not valid where it cannot be read.
func parseTrace(s string) trace.SpanContext {
	if s == "" {
		return trace.SpanContext{}
	}
	parent, state, _ := strings.Cut(s, " ")
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{fieldParent: parent, fieldState: state})
	return trace.SpanContextFromContext(ctx)
}

// formatTrace writes a place in a trace; "" where there is none.
func formatTrace(sc trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return strings.TrimSpace(carrier[fieldParent] + " " + carrier[fieldState])
}
