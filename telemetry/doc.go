// Package telemetry reports the work of agents to OpenTelemetry: a span for each drive of a run,
// each agent in it, each cycle, each model call and each tool call, and metrics. It is a bundle of
// hooks:
//
//	part, err := telemetry.Hooks(telemetry.Options{TracerProvider: tp, MeterProvider: mp})
//	agent := braid.New("shop", model, part)
//
// Spans contain the messages of agents, models and tools only with [Options].Content. Names and
// attributes are those of OpenTelemetry's GenAI conventions in the version [Conventions]; genai.go
// has all of them.
//
// A run belongs to the trace of its caller's span, or to the trace that it came with
// ([hook.TraceLabel]). A run that continues later, even in another process, stays in the trace in
// which it began. The context of a tool contains the span of its call, so that its own requests,
// for example to an MCP server, join the trace.
//
// Package telemetry/otlp configures the providers from the standard environment variables.
package telemetry
