package models

import (
	"context"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
)

// BenchmarkDeltas says what prices and limits add to an answer of 500 deltas.
func BenchmarkDeltas(b *testing.B) {
	usage := &event.Usage{Input: 100, Output: 500}
	plain := &called{"anthropic:x", func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
		for range 500 {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "word "}, nil) {
				return
			}
		}
		_ = yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}, nil) && yield(model.Chunk{Kind: model.ChunkStop}, nil)
	}}
	l, err := NewLimiter(Limits{Requests: 1 << 30, Tokens: 1 << 40, Concurrency: 8})
	if err != nil {
		b.Fatal(err)
	}
	for name, m := range map[string]model.Model{"plain": plain, "limited": withCost(l.Wrap(plain), pricing.Default(), "")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(b.Context(), m, hello); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCost is what a call's cost takes, with its price looked up.
func BenchmarkCost(b *testing.B) {
	m := withCost(&called{name: "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0"}, pricing.Default(), "us-east-1")
	u := event.Usage{Input: 1000, Output: 100, CacheRead: 5000}
	b.ReportAllocs()
	for b.Loop() {
		if _, known := m.Info().Cost(u); !known {
			b.Fatal("not known")
		}
	}
}
