// Package otlp sends telemetry to a collector. The standard environment variables (OTEL_…)
// configure it:
//
//	out, err := otlp.Open(ctx, otlp.Service{Name: "shop", Version: "1.2"})
//	…
//	defer out.Close(ctx)
//	part, err := telemetry.Hooks(out.Options())
//
// It uses OTLP over HTTP with protobuf. Without a variable that requests telemetry nothing is sent:
// there is no default address.
package otlp
