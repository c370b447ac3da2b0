package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// benchEvents are the shapes that there are most of.
func benchEvents() map[string]event.Event {
	header := event.Header{
		Conversation: "0198c7f2-conversation", Run: "0198c7f2-run", Cycle: 1, Step: "m1", Attempt: 1, Author: "calc",
		Time: time.Date(2026, 11, 20, 1, 2, 3, 456_789_000, time.UTC),
	}
	live, durable := header, header
	live.Epoch, live.N = 1, 137
	durable.Seq = 12
	return map[string]event.Event{
		"text_delta":    {Header: live, Body: &event.TextDelta{Text: "a few words", Block: 1}},
		"text_delta_ja": {Header: live, Body: &event.TextDelta{Text: "足した結果は", Block: 1}},
		"step_begun":    {Header: durable, Body: &event.StepBegun{Step: event.StepTool, Call: "call_1", Tool: "add", Effect: event.EffectPure}},
		"step_ended": {Header: durable, Body: &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone, Duration: time.Millisecond,
			Result: &event.ToolResult{Call: "call_1", Name: "add", Content: []event.Block{&event.Text{Text: "8"}}, Structured: json.RawMessage(`8`)},
		}},
		"assistant_message": {Header: durable, Body: &event.AssistantMessage{
			Content: []event.Block{
				&event.Text{Text: "3と5を足します。"},
				&event.ToolCall{ID: "call_1", Name: "add", Args: json.RawMessage(`{"a":3,"b":5}`)},
			},
			Stop: event.StopToolUse, Usage: event.Usage{Input: 680, Output: 79, Total: 759}, Model: "demo:assistant", Latency: 1299 * time.Millisecond,
		}},
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	for name, e := range benchEvents() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = event.AppendJSON(buf[:0], &e); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, e := range benchEvents() {
		data, err := event.AppendJSON(nil, &e)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := event.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/decoder", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			var d event.Decoder
			for b.Loop() {
				if _, err := d.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The path of a delta does not allocate.
//
//nolint:paralleltest // AllocsPerRun counts for the whole process.
func TestAppendJSONDoesNotAllocate(t *testing.T) {
	for _, body := range []event.Body{
		&event.TextDelta{Text: "日本語 \"quoted\""},
		&event.ThinkingDelta{Text: "x"},
		&event.ToolInputDelta{Call: "c", Tool: "t", JSON: `{"a":`},
		&event.ToolProgress{Call: "c", Tool: "t", Text: "half", Data: json.RawMessage(`{"done":0.5}`)},
		&event.StepBegun{Step: event.StepModel, Why: event.WhyInput},
	} {
		e := benchEvents()["text_delta"]
		e.Body = body
		buf := make([]byte, 0, 1024)
		if n := testing.AllocsPerRun(100, func() {
			var err error
			if buf, err = event.AppendJSON(buf[:0], &e); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", body.Kind(), n)
		}
	}
}
