package demo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// A stream of 500 pieces of text. The figures are ns/piece, and allocations that do not grow with
// the pieces.
func BenchmarkStream(b *testing.B) {
	for name, opts := range map[string][]demo.Option{
		"plain":         nil,
		"several words": {demo.Characters(20)},
	} {
		b.Run(name, func(b *testing.B) {
			size := 4
			if opts != nil {
				size = 20
			}
			m, err := demo.New(always(demo.Say(strings.Repeat("x", 500*size))), append(opts, demo.Characters(size))...)
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			req := request(user("go"))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for c, err := range m.Stream(ctx, req) {
					if err != nil {
						b.Fatal(err)
					}
					if c.Kind == model.ChunkText {
						n++
					}
				}
			}
			if n != 500*b.N {
				b.Fatalf("%d pieces", n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/piece")
		})
	}
}

// One answer with a call, as in a run with many tool cycles.
func BenchmarkCall(b *testing.B) {
	m, err := demo.New(always(demo.Say("Next."), demo.Call("add", `{"a":3,"b":5}`)))
	if err != nil {
		b.Fatal(err)
	}
	req := request(user("go"))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

//nolint:paralleltest // it counts allocations
func TestStreamingAllocatesNothingForAPiece(t *testing.T) {
	few := script(t, always(demo.Say(strings.Repeat("word ", 10))))
	many := script(t, always(demo.Say(strings.Repeat("word ", 1000))))
	req := request(user("go"))
	measure := func(m model.Model) float64 {
		return testing.AllocsPerRun(20, func() {
			for _, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	a, b := measure(few), measure(many)
	if a != b || b > 12 {
		t.Errorf("%v allocations for 10 pieces, %v for 1,000", a, b)
	}
}
