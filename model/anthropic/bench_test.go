package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// BenchmarkDelta is what a delta costs, from bytes to a chunk, beside the SDK's
// own stream.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	body := deltas(n)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s := stream{in: strings.NewReader(body)}
			s.yield = func(braid.Chunk, error) bool { return true }
			if err := s.run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			r := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
			s := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(r), nil)
			for s.Next() {
				_ = s.Current().Delta.Text
			}
			if s.Err() != nil {
				b.Fatal(s.Err())
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}

// BenchmarkRequest is what a body costs in the middle of a conversation of 1,000
// events: afresh, and when all but the last turn was sent before.
func BenchmarkRequest(b *testing.B) {
	messages := []event.Message{question("Go.")}
	for i := range 333 {
		messages = append(messages, turn(fmt.Sprint("t", i), 1)...)
	}
	req := func(n int) *braid.ModelRequest {
		return &braid.ModelRequest{Instructions: "Be brief.", Tools: add, Messages: messages[:n]}
	}
	b.Run("afresh", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			m := Model{name: Default, cache: CacheAuto}
			if _, _, err := m.body(req(len(messages))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		m := Model{name: Default, cache: CacheAuto}
		for i := range b.N {
			if _, _, err := m.body(req(len(messages) - 2*(i%2))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
