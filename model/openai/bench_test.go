package openai

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// BenchmarkDelta is what a delta costs, from bytes to a chunk. test/vendors/openai has the same
// for the SDK's own streams.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	perDelta := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta") }
	for api, body := range map[API]string{ChatCompletions: chatDeltas(n), Responses: responsesDeltas(n)} {
		b.Run(string(api), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				s := stream{in: strings.NewReader(body), events: (&Model{api: api}).decoder(back{}, func(model.Chunk, error) bool { return true })}
				if err := s.run(); err != nil {
					b.Fatal(err)
				}
			}
			perDelta(b)
		})
	}
}

// long is a conversation of 1,001 messages.
func long() []event.Message {
	messages := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Go."}}}}
	for i := range 500 {
		id := fmt.Sprint("call_", i)
		messages = append(
			messages,
			event.Message{Role: event.RoleAssistant, Content: []event.Block{
				&event.Text{Text: "I look."}, &event.ToolCall{ID: id, Name: "add", Args: []byte(`{"a":1,"b":2}`)},
			}},
			event.Message{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: id, Content: []event.Block{&event.Text{Text: "3"}}}}},
		)
	}
	return messages
}

// A turn on 1,000 messages encodes at most a quarter of what it would afresh.
func TestAWarmTurnIsCheap(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	messages := long()
	for _, api := range []API{ChatCompletions, Responses} {
		fewest := func(m func() *Model) uint64 {
			least := uint64(math.MaxUint64)
			for range 3 {
				one := m()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, _, err := one.body(&model.Request{Messages: messages}); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				least = min(least, after.Mallocs-before.Mallocs)
			}
			return least
		}
		afresh := fewest(func() *Model { return &Model{name: Default, api: api} })
		kept := &Model{name: Default, api: api}
		warm := fewest(func() *Model {
			// All but the last turn was sent before.
			if _, _, err := kept.body(&model.Request{Messages: messages[:len(messages)-2]}); err != nil {
				t.Fatal(err)
			}
			return kept
		})
		ratio := float64(warm) / float64(afresh)
		t.Logf("%s: %d allocations warm, %d afresh: %.2f", api, warm, afresh, ratio)
		if ratio > 0.25 {
			t.Errorf("%s: %.2f", api, ratio)
		}
	}
}
