package otlp

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/telemetry"
)

// Service describes the sender.
type Service struct {
	// Name and Version are used unless OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say
	// otherwise.
	Name    string
	Version string
}

// Output sends telemetry until it is closed. A nil Output sends nothing.
type Output struct {
	traces  *trace.TracerProvider
	meters  *metric.MeterProvider
	content bool
	version string
	// to lists the destinations.
	to []string
	// senders are stopped by Close, whether or not everything was sent.
	senders []*sender
}

// These variables are read here. The exporters and the SDK read the others.
const (
	disabled       = "OTEL_SDK_DISABLED"
	tracesTo       = "OTEL_TRACES_EXPORTER"
	metricsTo      = "OTEL_METRICS_EXPORTER"
	endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEnd      = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	metricsEnd     = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProto    = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	metricsProto   = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
	captureContent = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// Open returns the exporters and providers that the environment requests, or nil if it requests
// none. It opens no connection. It returns [event.ErrInvalid] with the name of an invalid variable.
func Open(ctx context.Context, s Service) (*Output, error) {
	off, err := flag(disabled)
	if err != nil || off {
		return nil, err
	}
	spans, err := wanted(tracesTo, tracesEnd, tracesProto)
	if err != nil {
		return nil, err
	}
	measures, err := wanted(metricsTo, metricsEnd, metricsProto)
	if err != nil || !spans && !measures {
		return nil, err
	}
	o := &Output{version: s.Version}
	if o.content, err = captures(); err != nil {
		return nil, err
	}
	about, err := describe(ctx, s)
	if err != nil {
		return nil, unusable("OTEL_RESOURCE_ATTRIBUTES", err)
	}
	if spans {
		to, err := newSender(traceSignal)
		if err != nil {
			return nil, err
		}
		o.senders = append(o.senders, to)
		o.traces = trace.NewTracerProvider(trace.WithBatcher(spanExporter{to}), trace.WithResource(about))
		o.to = append(o.to, "traces")
	}
	if measures {
		to, err := newSender(metricSignal)
		if err != nil {
			return nil, errors.Join(err, o.Close(ctx))
		}
		o.senders = append(o.senders, to)
		exporter, err := newMetricExporter(to, os.Getenv)
		if err != nil {
			return nil, errors.Join(err, o.Close(ctx))
		}
		o.meters = metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)), metric.WithResource(about))
		o.to = append(o.to, "metrics")
	}
	return o, nil
}

// Options returns the options for [telemetry.Hooks].
func (o *Output) Options() telemetry.Options {
	if o == nil {
		return telemetry.Options{}
	}
	t := telemetry.Options{Content: o.content, Version: o.version}
	if o.traces != nil {
		t.TracerProvider = o.traces
	}
	if o.meters != nil {
		t.MeterProvider = o.meters
	}
	return t
}

// Sends lists what is sent: "traces", "metrics", and "content" if spans contain content.
func (o *Output) Sends() []string {
	if o == nil {
		return nil
	}
	if o.content && o.traces != nil {
		return append(slices.Clip(o.to), "content")
	}
	return o.to
}

// Close sends what is left until ctx ends, and releases everything. It returns an error of kind
// [event.ErrUnavailable] for what could not be sent.
func (o *Output) Close(ctx context.Context) error {
	if o == nil {
		return nil
	}
	var errs []error
	if o.traces != nil {
		errs = append(errs, o.traces.Shutdown(ctx))
	}
	if o.meters != nil {
		errs = append(errs, o.meters.Shutdown(ctx))
	}
	for _, s := range o.senders {
		s.stop()
	}
	if err := errors.Join(errs...); err != nil {
		return &event.Error{
			Op: "telemetry", Kind: event.ErrUnavailable, Message: "telemetry could not be sent", Err: err,
			Hint: "look at the OTEL_EXPORTER_OTLP_… variables, or unset them",
		}
	}
	return nil
}

// describe returns the resource of the sender.
func describe(ctx context.Context, s Service) (*resource.Resource, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", s.Name), attribute.String("service.version", s.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if errors.Is(err, resource.ErrSchemaURLConflict) {
		err = nil
	}
	return about, err
}

// wanted reports whether a signal is requested: its exporter is named, or it has an address.
func wanted(exporter, own, proto string) (bool, error) {
	switch name := os.Getenv(exporter); name {
	case "none":
		return false, nil
	case "otlp":
	case "":
		if os.Getenv(endpoint) == "" && os.Getenv(own) == "" {
			return false, nil
		}
	default:
		return false, &event.Error{
			Op: "telemetry", Kind: event.ErrInvalid, Message: exporter + " names an exporter that is not built in",
			Hint: `use "otlp" or "none"; a collector can pass it on in any form`,
		}
	}
	for _, variable := range []string{proto, protocol} {
		switch os.Getenv(variable) {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, &event.Error{
				Op: "telemetry", Kind: event.ErrInvalid, Message: variable + " asks for a protocol that is not built in",
				Hint: `use "http/protobuf", which every collector takes, on port 4318`,
			}
		}
	}
	return true, nil
}

// captures reports whether content is requested on spans.
func captures() (bool, error) {
	switch strings.ToLower(os.Getenv(captureContent)) {
	case "span_only", "span_and_event":
		return true, nil
	case "no_content", "event_only": // there are no events
		return false, nil
	}
	return flag(captureContent)
}

// flag reads a variable that is true, false or unset.
func flag(variable string) (bool, error) {
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		return false, &event.Error{
			Op: "telemetry", Kind: event.ErrInvalid, Message: variable + " is neither true nor false", Hint: "write true or false",
		}
	}
	return v, nil
}

// unusable says which variable cannot be followed. Its value, which may be a secret, stays in
// the cause.
func unusable(variable string, err error) error {
	return &event.Error{
		Op: "telemetry", Kind: event.ErrInvalid, Message: variable + " cannot be followed", Err: err,
		Hint: "see the OpenTelemetry documentation of this variable",
	}
}
