package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai/openaitest"
)

// BenchmarkDelta is what a delta costs in the SDK's own streams. model/openai has the same for
// Braid's.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	chunks := make([]model.Chunk, n)
	for i := range chunks {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: "a few words "}
	}
	for _, api := range []openaitest.API{openaitest.Chat, openaitest.Responses} {
		body := openaitest.Stream(api, chunks, event.StopEndTurn, event.Usage{Input: 1, Output: 1}).Body
		b.Run(string(api), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				r := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
				if err := all(api, ssestream.NewDecoder(r)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
		})
	}
}

func all(api openaitest.API, d ssestream.Decoder) error {
	if api == openaitest.Responses {
		s := ssestream.NewStream[responses.ResponseStreamEventUnion](d, nil)
		for s.Next() {
			_ = s.Current().Delta
		}
		return s.Err()
	}
	s := ssestream.NewStream[sdk.ChatCompletionChunk](d, nil)
	for s.Next() {
		_ = s.Current().Choices
	}
	return s.Err()
}
