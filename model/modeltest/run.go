package modeltest

import (
	"slices"
	"testing"
)

// Run holds the provider to the contract. Its subtests run in parallel.
func Run(t *testing.T, p Provider) {
	t.Helper()
	if p.Name == "" {
		t.Fatal("the provider needs a name")
	}
	if p.Loop == nil {
		t.Fatal("the provider needs a loop: take that of test/wires")
	}
	for _, f := range p.Without {
		if !slices.Contains(optional, f) {
			t.Fatalf("%q is no feature that a vendor can be without", f)
		}
	}
	p.record(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *Provider)
	}{
		{"answers", answers},
		{"stops", stops},
		{"usage", usage},
		{"structured output", structuredOutput},
		{"guardrails", guardrails},
		{"tool schemas", toolSchemas},
		{"any schema", anySchema},
		{"prompt cache", promptCache},
		{"histories", histories},
		{"any history", anyHistory},
		{"unsupported input", unsupported},
		{"tool choice", toolChoice},
		{"faults", faults},
		{"through the loop", loops},
		{"cut after each piece", cuts},
		{"cancel", cancels},
		{"breaking out", breaks},
		{"requests are only read", readOnly},
		{"many at once", many},
		{"table of features", table},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, &p)
		})
	}
}
