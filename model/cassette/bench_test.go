package cassette_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

// An answer of 500 pieces, asked for at the end of a conversation of 200 messages.
func BenchmarkDeltas(b *testing.B) {
	chunks := make([]model.Chunk, 0, 501)
	for range 500 {
		chunks = append(chunks, model.Chunk{Kind: model.ChunkText, Text: "a word or two "})
	}
	chunks = append(chunks, stop)
	inner := said(func(*model.Request) ([]model.Chunk, error) { return chunks, nil })
	req := &model.Request{Run: "r", Messages: history(200)}
	hear := func(b *testing.B, m model.Model) {
		b.Helper()
		for _, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hear(b, inner)
		}
	})
	b.Run("record", func(b *testing.B) {
		rec := cassette.Record(inner, io.Discard)
		b.ReportAllocs()
		for b.Loop() {
			hear(b, rec)
		}
	})
	b.Run("replay", func(b *testing.B) {
		var tape bytes.Buffer
		hear(b, cassette.Record(inner, &tape))
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			player, err := cassette.Replay(bytes.NewReader(tape.Bytes()))
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			hear(b, player)
		}
	})
}

func history(n int) []event.Message {
	msgs := make([]event.Message, n)
	for i := range msgs {
		role := event.RoleUser
		if i%2 == 1 {
			role = event.RoleAssistant
		}
		msgs[i] = event.Message{Role: role, Content: []event.Block{&event.Text{Text: "What is said in a conversation is about as long as this line."}}}
	}
	return msgs
}
