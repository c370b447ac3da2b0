package modeltest

import (
	"testing"
)

// Run holds the provider to the contract. Its subtests run in parallel.
func Run(t *testing.T, p Provider) {
	t.Helper()
	for _, part := range []struct {
		name string
		test func(*testing.T, *Provider)
	}{
		{"answers", answers},
		{"stops", stops},
		{"usage", usage},
		{"histories", histories},
		{"unsupported input", unsupported},
		{"tool choice", toolChoice},
		{"faults", faults},
		{"cut after each piece", cuts},
		{"cancel", cancels},
		{"breaking out", breaks},
		{"requests are only read", readOnly},
		{"many at once", many},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, &p)
		})
	}
}
