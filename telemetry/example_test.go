package telemetry_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/telemetry"
)

func ExampleHooks() {
	spans := tracetest.NewInMemoryExporter() // a program has an exporter to a collector
	part, err := telemetry.Hooks(telemetry.Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("shop", &script{name: "demo:shop", answers: []any{says("We open at nine.")}}, part)
	if _, err := agent.Run(context.Background(), "When do you open?"); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// chat shop
	// cycle
	// invoke_agent shop
}
