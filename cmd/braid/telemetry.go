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

// flushTimeout is how long a program that ends tries to send the last of its telemetry.
const flushTimeout = 5 * time.Second

// observer is the telemetry of the program: nothing, unless the variables OTEL_… ask for it.
type observer struct {
	out  *otlp.Output
	part braid.Part
	// failed says that something could not be sent.
	failed atomic.Bool
}

// openTelemetry sets telemetry up as the environment says. note is told once where something
// cannot be sent; it must be safe for concurrent use.
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

// parts are what an agent is given to be told of.
func (t *observer) parts() []braid.Part {
	if t.part == nil {
		return nil
	}
	return []braid.Part{t.part}
}

// words say what is sent; "" for nothing.
func (t *observer) words() string {
	if t.out == nil {
		return ""
	}
	return strings.Join(t.out.Sends(), ", ")
}

// close sends what is left.
func (t *observer) close() {
	ctx, stop := context.WithTimeout(context.Background(), flushTimeout)
	defer stop()
	if err := t.out.Close(ctx); err != nil {
		otel.Handle(err)
	}
}

// tells opens the telemetry of a command that talks to a person.
func (p *process) tells() (*observer, error) {
	return openTelemetry(context.Background(), func(error) {
		fmt.Fprintln(p.Stderr, "braid: telemetry could not be sent (look at the variables OTEL_EXPORTER_OTLP_…, or set OTEL_SDK_DISABLED=true)")
	})
}
