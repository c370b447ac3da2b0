package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/telemetry"
	"github.com/braidrun/braid/telemetry/otlp"
)

// flushTimeout is the maximum time for sending the last telemetry at the end of the program.
const flushTimeout = 5 * time.Second

// observer is the program's telemetry. It does nothing unless variables OTEL_… enable it.
type observer struct {
	out  *otlp.Output
	part braid.Part
	// failed is set after a failed export.
	failed atomic.Bool
}

// openTelemetry configures telemetry from the environment. It calls note once after a failed export; note
// must be safe for concurrent use.
func openTelemetry(ctx context.Context, note func(error)) (*observer, error) {
	t := &observer{}
	var err error
	t.out, err = otlp.Open(ctx, otlp.Service{Name: "braid", Version: readBuild().Version})
	if err != nil || t.out == nil {
		return t, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !t.failed.Swap(true) {
			note(err)
		}
	}))
	t.part, err = telemetry.Hooks(t.out.Options())
	return t, err
}

// parts returns the agent's parts that record telemetry.
func (t *observer) parts() []braid.Part {
	if t.part == nil {
		return nil
	}
	return []braid.Part{t.part}
}

// words describes the exported data; "" for none.
func (t *observer) words() string {
	if t.out == nil {
		return ""
	}
	return strings.Join(t.out.Sends(), ", ")
}

// close sends the remaining data.
func (t *observer) close() {
	ctx, stop := context.WithTimeout(context.Background(), flushTimeout)
	defer stop()
	if err := t.out.Close(ctx); err != nil {
		otel.Handle(err)
	}
}

// interactiveTelemetry opens the telemetry of an interactive command.
func (p *process) interactiveTelemetry() (*observer, error) {
	return openTelemetry(context.Background(), func(error) {
		fmt.Fprintln(p.Stderr, "braid: telemetry could not be sent (look at the variables OTEL_EXPORTER_OTLP_…, or set OTEL_SDK_DISABLED=true)")
	})
}
