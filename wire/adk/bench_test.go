package adk_test

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/adk"
	"github.com/braidrun/braid/wire/wiretest"
)

// Encoding is bounded at 300 MB/s on the machine that measures the other wires: b.SetBytes counts what is written.
func BenchmarkPieces(b *testing.B) {
	h := event.Header{Run: "run_01k8", Step: "m1", Attempt: 1, Author: "guide"}
	feed := wiretest.Feed(&adk.Encoder{Run: "run_01k8", Streaming: true}, "run_01k8")
	begun := event.Event{Header: h, Body: &event.StepBegun{Step: event.StepModel}}
	begun.Seq = 1
	feed.Append(nil, &begun)
	piece := event.Event{Header: h, Body: &event.TextDelta{Text: "a word "}}
	piece.Epoch = 1
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		piece.N++
		buf = feed.Append(buf[:0], &piece)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkEvents(b *testing.B) {
	e, err := adk.Decode([]byte(`{"id":"r/m1","invocationId":"r","author":"guide","timestamp":1753189200.123456,"content":{"role":"model","parts":[{"text":"` +
		strings.Repeat("東京 is a city. ", 40) + `"},{"functionCall":{"id":"c","name":"look","args":{"city":"London"}}}]},"actions":{"stateDelta":{"a":1},"artifactDelta":{}}}`))
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}
