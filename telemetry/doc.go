// Package telemetry tells OpenTelemetry what agents do: a span for each drive of a run, each
// agent in it, each cycle, each model call and each tool call, and metrics of them. It is a
// bundle of hooks:
//
//	part, err := telemetry.Hooks(telemetry.Options{TracerProvider: tp, MeterProvider: mp})
//	agent := braid.New("shop", model, part)
//
// What an agent and its models and tools say stands on no span, unless
// [Options].Content is set. Names and attributes are those of the GenAI conventions of
// OpenTelemetry in the version [Conventions]; the file genai.go has all of them.
//
// A run whose caller has a span, or that came with a trace ([hook.TraceLabel]), belongs to that
// trace; one that goes on later, in another process, belongs to the trace in which it began.
// The context of a tool has the span of its call, so that what the tool asks of others,
// such as an MCP server, joins the trace.
//
// Package telemetry/otlp sets the providers up by the standard variables of the environment.
package telemetry
