package main

import (
	"os"
	"strings"
	"testing"
)

// Without a telemetry variable, agents have no telemetry parts, so it costs nothing.
func TestTelemetryIsOffWhereNothingAsksForIt(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	told := func() int {
		t.Helper()
		o, err := openTelemetry(t.Context(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(o.close)
		return len(o.parts())
	}
	if n := told(); n != 0 {
		t.Errorf("agents have %d parts that nobody asked for", n)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1")
	if n := told(); n != 0 {
		t.Errorf("switched off, agents have %d parts", n)
	}
}
