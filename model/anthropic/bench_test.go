package anthropic

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// BenchmarkDelta is what a delta costs, from bytes to a chunk. Module test/vendors
// measures the vendor's SDK.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	body := deltas(n)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			d := decoder{yield: func(model.Chunk, error) bool { return true }}
			if err := d.run(newLines(strings.NewReader(body))); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
	b.Run("bedrock", func(b *testing.B) {
		b.ReportAllocs()
		body := framed(body)
		for range b.N {
			d := decoder{yield: func(model.Chunk, error) bool { return true }}
			if err := d.run(newFrames(strings.NewReader(body))); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}

// long is a conversation of 1,000 messages.
func long() []event.Message {
	messages := []event.Message{question("Go.")}
	for i := range 500 {
		messages = append(messages, turn(fmt.Sprint("t", i), 1)...)
	}
	return messages
}

// BenchmarkRequest is what a body costs in the middle of a conversation of 1,000
// messages: afresh, and when all but the last turn was sent before.
func BenchmarkRequest(b *testing.B) {
	messages := long()
	req := func(n int) *model.Request {
		return &model.Request{Instructions: "Be brief.", Tools: add, Messages: messages[:n]}
	}
	b.Run("afresh", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			m := Model{name: Default, cache: CacheAuto}
			if _, err := m.request(req(len(messages)), false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		m := Model{name: Default, cache: CacheAuto}
		for i := range b.N {
			if _, err := m.request(req(len(messages)-2*(i%2)), false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A turn on 1,000 messages encodes at most a quarter of what it would afresh.
func TestAWarmTurnIsCheap(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	messages := long()
	fewest := func(m func() *Model) uint64 {
		least := uint64(math.MaxUint64)
		for range 3 {
			one := m()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := one.request(&model.Request{Tools: add, Messages: messages}, false); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return least
	}
	kept := &Model{name: Default, cache: CacheAuto}
	afresh := fewest(func() *Model { return &Model{name: Default, cache: CacheAuto} })
	warm := fewest(func() *Model {
		// All but the last turn was sent before.
		if _, err := kept.request(&model.Request{Tools: add, Messages: messages[:len(messages)-2]}, false); err != nil {
			t.Fatal(err)
		}
		return kept
	})
	if ratio := float64(warm) / float64(afresh); ratio > 0.25 {
		t.Errorf("%d allocations warm, %d afresh: %.2f", warm, afresh, ratio)
	} else {
		t.Logf("%d allocations warm, %d afresh: %.2f", warm, afresh, ratio)
	}
}
