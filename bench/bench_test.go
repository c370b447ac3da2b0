package main

import (
	"testing"

	"github.com/braidrun/braid/bench/scenario"
)

// Benchmark runs the rows of the table as ordinary benchmarks, each side under its own name: go test -bench
// 'Benchmark/b/braid' -benchmem ./bench.
func Benchmark(b *testing.B) {
	for _, p := range scenario.Pairs() {
		if p.Close != nil {
			b.Cleanup(func() {
				if err := p.Close(); err != nil {
					b.Error(err)
				}
			})
		}
		b.Run(p.ID, func(b *testing.B) {
			for _, side := range []*scenario.Side{&p.Base, &p.Subject} {
				b.Run(side.Name, func(b *testing.B) { benchmark(b, side) })
			}
		})
	}
}

// benchmark does b.N runs, in batches of the size that the side accepts.
func benchmark(b *testing.B, side *scenario.Side) {
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := left
		if side.Most > 0 {
			n = min(left, side.Most)
		}
		left -= n
		b.StopTimer()
		run := side.Batch(n)
		b.StartTimer()
		if err := side.Check(n, run); err != nil {
			b.Fatal(err)
		}
	}
}
