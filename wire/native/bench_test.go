package native_test

import (
	"encoding/json"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

func delta() *event.Event {
	return &event.Event{
		Header: event.Header{Conversation: "c", Run: "r1", Step: "m1", Attempt: 1, Epoch: 3, N: 41},
		Body:   &event.TextDelta{Text: "a few words of "},
	}
}

func begun() *encoder {
	enc := newEncoder()
	enc.Complete = true
	enc.Append(nil, &event.Event{Header: event.Header{Seq: 1, Run: "r1"}, Body: &event.RunStarted{Session: 1}})
	enc.Append(nil, &event.Event{Header: event.Header{Seq: 2, Run: "r1", Step: "m1", Attempt: 1}, Body: &event.StepBegun{Step: event.StepModel}})
	return enc
}

//nolint:paralleltest // allocations are counted for the whole process
func TestDeltasDoNotAllocate(t *testing.T) {
	enc, e := begun(), delta()
	dst := make([]byte, 0, 1024)
	tool := delta()
	tool.Body = &event.ToolProgress{Call: "call1", Tool: "look", Text: "half", Data: json.RawMessage(`{"at":1}`)}
	child := delta()
	child.Scope, child.Body = "t1", &event.ThinkingDelta{Text: "hm"}
	for _, e := range []*event.Event{e, tool, child} {
		if n := testing.AllocsPerRun(100, func() { dst = enc.Append(dst[:0], e) }); n > 0 || len(dst) == 0 {
			t.Errorf("a %s allocates %v times: %s", e.Body.Kind(), n, dst)
		}
	}
}

func BenchmarkTextDelta(b *testing.B) {
	enc, e := begun(), delta()
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst = enc.Append(dst[:0], e)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkMessage(b *testing.B) {
	e := &event.Event{
		Header: event.Header{Conversation: "c", Run: "r1", Step: "m1", Attempt: 1},
		Body: &event.AssistantMessage{
			Content: []event.Block{
				&event.Text{Text: "Let me see what the calculator says."},
				&event.ToolCall{ID: "call1", Name: "calculator", Args: json.RawMessage(`{"expression":"1+1"}`)},
			},
			Stop: event.StopToolUse, Model: "m",
		},
	}
	enc := begun()
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		e.Seq++
		dst = enc.Append(dst[:0], e)
	}
}

func BenchmarkDecodeTextDelta(b *testing.B) {
	data := []byte(`{"text":"a few words of ","step":"m1","attempt":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := native.Decode("text_delta", data); err != nil {
			b.Fatal(err)
		}
	}
}
