package bedrock

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
)

func deltas(n int) string {
	events := []string{"messageStart", `{"p":"abcd","role":"assistant"}`}
	for range n {
		events = append(events, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":" a few words"},"p":"abcdefghijklmnopqrstu"}`)
	}
	return frames(append(events, "contentBlockStop", `{"contentBlockIndex":0}`, "messageStop", `{"stopReason":"end_turn"}`,
		"metadata", `{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":5}}`)...)
}

// still is a transport that answers every request with the same stream.
type still string

func (s still) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {eventStream}}, Body: io.NopCloser(strings.NewReader(string(s))), Request: r,
		ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkDelta measures a delta, from bytes to a chunk. test/vendors/bedrock measures the SDK's
// own stream.
func BenchmarkDelta(b *testing.B) {
	const n = 500
	body := deltas(n)
	b.Run("ours", func(b *testing.B) {
		f := familyOf(claude)
		g := idle.New(b.Context(), 0)
		defer g.End()
		b.ReportAllocs()
		for range b.N {
			d := decoder{family: &f, yield: func(model.Chunk, error) bool { return true }}
			if err := d.run(g, strings.NewReader(body)); err != nil {
				b.Fatal(err)
			}
			g = idle.New(b.Context(), 0)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}

// A delta needs one allocation: its text.
func TestADeltaIsCheap(t *testing.T) { //nolint:paralleltest // it counts allocations
	f := familyOf(claude)
	few, many := deltas(100), deltas(1100)
	count := func(body string) float64 {
		return testing.AllocsPerRun(5, func() {
			g := idle.New(t.Context(), 0)
			defer g.End()
			d := decoder{family: &f, yield: func(model.Chunk, error) bool { return true }}
			if err := d.run(g, strings.NewReader(body)); err != nil {
				t.Error(err)
			}
		})
	}
	if each := (count(many) - count(few)) / 1000; each > 1.01 {
		t.Errorf("%.2f allocations a delta", each)
	}
}

// BenchmarkRequest encodes a body in a conversation of 1,000 messages: from nothing, and when all
// but the last turn was sent before. It also makes a whole call without the network.
func BenchmarkRequest(b *testing.B) {
	messages := long()
	req := func(n int) *model.Request {
		return &model.Request{Instructions: "Be brief.", Tools: add, Messages: messages[:n]}
	}
	b.Run("afresh", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			m := Model{setup: setup{name: claude, family: familyOf(claude), cache: CacheAuto}}
			if _, err := m.request(req(len(messages)), false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		m := made(b, claude)
		for i := range b.N {
			if _, err := m.request(req(len(messages)-2*(i%2)), false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		m := made(b, claude, HTTPClient(&http.Client{Transport: still(deltas(1))}))
		for i := range b.N {
			for _, err := range m.Stream(b.Context(), req(len(messages)-2*(i%2))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
