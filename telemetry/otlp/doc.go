// Package otlp sends telemetry to a collector, set up by the standard variables of the
// environment (OTEL_…), as the command does it:
//
//	out, err := otlp.Open(ctx, otlp.Service{Name: "shop", Version: "1.2"})
//	…
//	defer out.Close(ctx)
//	part, err := telemetry.Hooks(out.Options())
//
// It speaks OTLP over HTTP, in protobuf. Where no variable asks for telemetry there is none:
// an address on this machine is not guessed.
package otlp
