package gemini

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

// deltas returns a stream of n texts in the API's form: each event repeats the counts, the model
// and the id.
func deltas(n int) string {
	var b strings.Builder
	for i := range n {
		end := ""
		if i == n-1 {
			end = `"finishReason": "STOP",`
		}
		fmt.Fprintf(&b, `data: {"candidates": [{"content": {"parts": [{"text": " piece %d"}],"role": "model"},%s"index": 0}],"usageMetadata": `+
			`{"promptTokenCount": 218,"candidatesTokenCount": %d,"totalTokenCount": %d,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 218}]},`+
			`"modelVersion": "gemini-2.5-flash","responseId": "XgCzaazDItHRz7IPmsmB4Qk"}`+"\r\n\r\n", i, end, i, 218+i)
	}
	return b.String()
}

// memory is a transport that answers each request with a body.
type memory string

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(m))), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkDelta measures a delta, from bytes to a chunk.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	body := deltas(n)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s := stream{in: strings.NewReader(body), end: func() {}}
			s.yield = func(model.Chunk, error) bool { return true }
			if err := s.run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}

func question(s string) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: s}}}
}

// turn returns a call and its result.
func turn(id string) []event.Message {
	return []event.Message{
		{Role: event.RoleAssistant, Content: []event.Block{
			&event.Text{Text: "I look at " + id + ", which is what the question is about, and then at the next."},
			&event.ToolCall{ID: id, Name: "add", Args: []byte(`{"a":1,"b":2}`), Signature: own + "c2lnbmF0dXJl"},
		}},
		{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{
			Call: id, Name: "add", Content: []event.Block{&event.Text{Text: "the sum of what was asked for is three"}},
		}}},
	}
}

// long returns a conversation of 1,001 messages.
func long() []event.Message {
	messages := []event.Message{question("Go.")}
	for i := range 500 {
		messages = append(messages, turn(fmt.Sprint("t", i))...)
	}
	return messages
}

var add = []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}

// BenchmarkRequest encodes a body in a conversation of 1,000 messages: from nothing, and when all
// but the last turn was sent before. It also sends the latter to memory.
func BenchmarkRequest(b *testing.B) {
	messages := long()
	req := func(n int) *model.Request {
		return &model.Request{Instructions: "Be brief.", Tools: add, Messages: messages[:n]}
	}
	fresh := func() *Model { return &Model{name: Default, generation: levels} }
	b.Run("afresh", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, _, err := fresh().body(req(len(messages))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		m := fresh()
		for i := range b.N {
			if _, _, err := m.body(req(len(messages) - 2*(i%2))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm, sent", func(b *testing.B) {
		b.ReportAllocs()
		m, err := New(Default, secret.New("k"), HTTPClient(&http.Client{Transport: memory(deltas(1))}))
		if err != nil {
			b.Fatal(err)
		}
		for i := range b.N {
			for _, err := range m.Stream(b.Context(), req(len(messages)-2*(i%2))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// A turn after 1,000 messages encodes at most a quarter of the whole request.
func TestAWarmTurnIsCheap(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	messages := long()
	fewest := func(m func() *Model) uint64 {
		least := uint64(math.MaxUint64)
		for range 3 {
			one := m()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := one.body(&model.Request{Tools: add, Messages: messages}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return least
	}
	kept := &Model{name: Default, generation: levels}
	afresh := fewest(func() *Model { return &Model{name: Default, generation: levels} })
	warm := fewest(func() *Model {
		// The model has sent all but the last turn before.
		if _, _, err := kept.body(&model.Request{Tools: add, Messages: messages[:len(messages)-2]}); err != nil {
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

// A text delta costs one allocation: the text.
func TestADeltaIsCheap(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the whole process
	const few, many = 100, 600
	count := func(n int) float64 {
		body := deltas(n)
		return testing.AllocsPerRun(10, func() {
			s := stream{in: strings.NewReader(body), end: func() {}}
			s.yield = func(model.Chunk, error) bool { return true }
			if err := s.run(); err != nil {
				t.Error(err)
			}
		})
	}
	if each := (count(many) - count(few)) / (many - few); each > 1.05 {
		t.Errorf("%.2f allocations a delta", each)
	}
}
