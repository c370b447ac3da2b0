package bedrock

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/braidrun/braid/event"
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

// BenchmarkDelta is what a delta costs, from bytes to a chunk, beside the SDK's
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
	b.Run("sdk", func(b *testing.B) {
		cfg := config()
		cfg.HTTPClient = &http.Client{Transport: still(body)}
		client := bedrockruntime.NewFromConfig(cfg)
		id := claude
		b.ReportAllocs()
		for range b.N {
			out, err := client.ConverseStream(b.Context(), &bedrockruntime.ConverseStreamInput{ModelId: &id})
			if err != nil {
				b.Fatal(err)
			}
			seen := 0
			for e := range out.GetStream().Events() {
				if d, ok := e.(*types.ConverseStreamOutputMemberContentBlockDelta); ok {
					if _, ok := d.Value.Delta.(*types.ContentBlockDeltaMemberText); ok {
						seen++
					}
				}
			}
			if err := out.GetStream().Close(); err != nil || seen != n {
				b.Fatal(err, seen)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}

// A delta needs one allocation: the text that is handed over.
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

// The SDK reads the same of a stream as we do.
func TestTheSDKReadsTheSame(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.HTTPClient = &http.Client{Transport: still(topSong)}
	id := claude
	out, err := bedrockruntime.NewFromConfig(cfg).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: &id})
	if err != nil {
		t.Fatal(err)
	}
	var text, input, stop string
	var total int32
	for e := range out.GetStream().Events() {
		switch e := e.(type) {
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch d := e.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += d.Value
			case *types.ContentBlockDeltaMemberToolUse:
				input += *d.Value.Input
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = string(e.Value.StopReason)
		case *types.ConverseStreamOutputMemberMetadata:
			total = *e.Value.Usage.TotalTokens
		}
	}
	if err := out.GetStream().Close(); err != nil {
		t.Fatal(err)
	}
	got, err := decode(claude, nil, strings.NewReader(topSong))
	if err != nil || event.TextOf(got.Content) != text || string(event.CallsOf(got.Content)[0].Args) != input || string(got.Stop) != stop ||
		got.Usage.Total != int64(total) {
		t.Errorf("%v: %+v, the SDK: %q %q %s %d", err, got, text, input, stop, total)
	}
}

// BenchmarkRequest is what a body costs in the middle of a conversation of 1,000
// messages: afresh, and when all but the last turn was sent before; and a whole
// call of it without the network.
func BenchmarkRequest(b *testing.B) {
	messages := long()
	req := func(n int) *model.Request {
		return &model.Request{Instructions: "Be brief.", Tools: add, Messages: messages[:n]}
	}
	b.Run("afresh", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			m := Model{name: claude, family: familyOf(claude), cache: CacheAuto}
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
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		cfg := config()
		cfg.HTTPClient = &http.Client{Transport: still(deltas(1))}
		client := bedrockruntime.NewFromConfig(cfg)
		in := sdkMessages(b, messages)
		id := claude
		for range b.N {
			out, err := client.ConverseStream(b.Context(), &bedrockruntime.ConverseStreamInput{ModelId: &id, Messages: in})
			if err != nil {
				b.Fatal(err)
			}
			for e := range out.GetStream().Events() {
				_ = e
			}
			if err := out.GetStream().Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// sdkMessages are the same messages in the SDK's types.
func sdkMessages(b *testing.B, messages []event.Message) []types.Message {
	b.Helper()
	var out []types.Message
	for i, m := range messages {
		role := types.ConversationRoleUser
		if m.Role == event.RoleAssistant {
			role = types.ConversationRoleAssistant
		}
		text := bytes.Repeat([]byte("x"), 40)
		out = append(out, types.Message{Role: role, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: fmt.Sprint(i, string(text))}}})
	}
	return out
}
