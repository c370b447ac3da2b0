package cassette_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/cassette"
)

// An answer of 500 pieces, asked for at the end of a conversation of 200 messages.
func BenchmarkDeltas(b *testing.B) {
	chunks := make([]braid.Chunk, 0, 501)
	for range 500 {
		chunks = append(chunks, braid.Chunk{Kind: braid.ChunkText, Text: "a word or two "})
	}
	chunks = append(chunks, stop)
	model := said(func(*braid.ModelRequest) ([]braid.Chunk, error) { return chunks, nil })
	req := &braid.ModelRequest{Run: "r", Messages: history(200)}
	hear := func(b *testing.B, m braid.Model) {
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
			hear(b, model)
		}
	})
	b.Run("record", func(b *testing.B) {
		rec := cassette.Record(model, io.Discard)
		b.ReportAllocs()
		for b.Loop() {
			hear(b, rec)
		}
	})
	b.Run("replay", func(b *testing.B) {
		var tape bytes.Buffer
		hear(b, cassette.Record(model, &tape))
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
