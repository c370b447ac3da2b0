package modeltest

import (
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

var counted = event.Usage{Input: 10, Output: 5, Total: 15}

// answers are the shapes that an answer can have.
func answers(t *testing.T, p *Provider) {
	long := strings.Repeat("日本語 and more. ", 4000)
	for _, tc := range []struct {
		name   string
		need   []Feature
		chunks []braid.Chunk
		stop   event.StopReason
		want   []event.Block
	}{
		{
			"text", nil, pieces(braid.ChunkText, 0, "Hel", "lo", ", 世界 🙂\n\"q\" \\ \t"), event.StopEndTurn,
			[]event.Block{text("Hello, 世界 🙂\n\"q\" \\ \t")},
		},
		{"a long text", nil, pieces(braid.ChunkText, 0, long, long), event.StopEndTurn, []event.Block{text(long + long)}},
		{
			"two texts",
			[]Feature{SeveralTexts},
			join(pieces(braid.ChunkText, 0, "a"), pieces(braid.ChunkText, 1, "b")),
			event.StopEndTurn,
			[]event.Block{text("a"), text("b")},
		},
		{"text before a call", nil, join(
			pieces(braid.ChunkText, 0, "I ", "add."), calling(1, "c1", "add", `{"a"`, `: 3}`),
		), event.StopToolUse, []event.Block{
			text("I add."), call("c1", "add", `{"a": 3}`),
		}},
		{
			"parallel calls",
			[]Feature{ParallelCalls},
			join(calling(0, "c1", "add", `{"a":1}`), calling(1, "c2", "add", `{"a":2}`), calling(2, "c3", "mul", `{"a":3}`)),
			event.StopToolUse,
			[]event.Block{call("c1", "add", `{"a":1}`), call("c2", "add", `{"a":2}`), call("c3", "mul", `{"a":3}`)},
		},
		{
			"interleaved calls",
			[]Feature{InterleavedCalls},
			join(calling(0, "c1", "add", `{"a"`), calling(1, "c2", "mul", `{"a":`),
				pieces(braid.ChunkCallInput, 0, `:1}`), pieces(braid.ChunkCallInput, 1, `2`, `}`)),
			event.StopToolUse,
			[]event.Block{call("c1", "add", `{"a":1}`), call("c2", "mul", `{"a":2}`)},
		},
		{"a call without arguments", nil, calling(0, "c1", "now"), event.StopToolUse, []event.Block{call("c1", "now", ``)}},
		{"arguments in many pieces", nil, calling(
			0, "c1", "add", strings.Split(`{"a":12,"b":"é\n\u00e9\"x"}`, "")...,
		), event.StopToolUse, []event.Block{
			call("c1", "add", `{"a":12,"b":"é\n\u00e9\"x"}`),
		}},
		{
			"arguments that are cut", nil, calling(0, "c1", "add", `{"a":12,"b":"`), event.StopMaxTokens,
			[]event.Block{call("c1", "add", `{"a":12,"b":"`)},
		},
		{
			"arguments that are no JSON", nil, calling(0, "c1", "add", `a is twelve`), event.StopToolUse,
			[]event.Block{call("c1", "add", `a is twelve`)},
		},
		{
			"thinking without a signature",
			[]Feature{Thinking},
			join(pieces(braid.ChunkThinking, 0, "Hm", ", so."), pieces(braid.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Text: "Hm, so."}, text("Yes.")},
		},
		{
			"thinking",
			[]Feature{Thinking, SignedThinking},
			join(pieces(braid.ChunkThinking, 0, "Hm", ", so."), pieces(braid.ChunkSignature, 0, "sig-1"), pieces(braid.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Text: "Hm, so.", Signature: p.signed("sig-1")}, text("Yes.")},
		},
		{
			"thinking that is not shown",
			[]Feature{Thinking, SignedThinking},
			join(pieces(braid.ChunkSignature, 0, "sig-2"), pieces(braid.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Signature: p.signed("sig-2")}, text("Yes.")},
		},
		{
			"redacted thinking",
			[]Feature{RedactedThinking},
			join([]braid.Chunk{{Kind: braid.ChunkBlock, Block: &event.RedactedThinking{Data: "xxxx"}}}, pieces(braid.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.RedactedThinking{Data: "xxxx"}, text("Yes.")},
		},
		{"nothing", nil, nil, event.StopEndTurn, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range tc.need {
				if !p.has(f) {
					t.Skip("the vendor has no " + string(f))
				}
			}
			m, _ := p.Open(t, Answer{Chunks: tc.chunks, Stop: tc.stop, Usage: counted})
			req := request()
			req.Tools = []braid.ToolSpec{tool("add"), tool("mul"), tool("now")}
			r := mustAnswer(t, Call(t.Context(), m, req))
			if got, want := raw(r.Content), raw(tc.want); got != want {
				t.Errorf("content\n %s\nwant\n %s", got, want)
			}
			if r.Stop != tc.stop {
				t.Errorf("stop %q, want %q", r.Stop, tc.stop)
			}
			streamed := 0
			for _, c := range tc.chunks {
				if c.Text != "" && c.Kind != braid.ChunkCall {
					streamed++
				}
			}
			if r.Pieces < streamed {
				t.Errorf("%d pieces were sent and %d came: something was held back", streamed, r.Pieces)
			}
		})
	}
}

// raw shows blocks with arguments that may be no JSON.
func raw(content []event.Block) string {
	var b strings.Builder
	for _, c := range content {
		if k, ok := c.(*event.ToolCall); ok {
			b.WriteString("call " + k.ID + " " + k.Name + " " + string(k.Args) + "\n ")
			continue
		}
		if x, ok := c.(*event.Text); ok && x.Text == "" {
			continue
		}
		s := blocks([]event.Block{c})
		if len(s) > 2000 {
			s = s[:1000] + "…" + s[len(s)-900:]
		}
		b.WriteString(s + "\n ")
	}
	return b.String()
}

// stops are the reasons for which an answer ends.
func stops(t *testing.T, p *Provider) {
	list := p.Stops
	if len(list) == 0 {
		list = []event.StopReason{event.StopEndTurn, event.StopToolUse, event.StopMaxTokens}
	}
	for _, stop := range list {
		chunks := pieces(braid.ChunkText, 0, "So ", "far.")
		if stop == event.StopToolUse {
			chunks = calling(0, "c1", "add", `{"a":1}`)
		}
		m, _ := p.Open(t, Answer{Chunks: chunks, Stop: stop, Usage: counted})
		req := request()
		req.Tools = []braid.ToolSpec{tool("add")}
		if r := mustAnswer(t, Call(t.Context(), m, req)); r.Stop != stop {
			t.Errorf("stop %q, want %q", r.Stop, stop)
		}
	}
}

// usage is what was counted.
func usage(t *testing.T, p *Provider) {
	want := event.Usage{Input: 100, Output: 40, Total: 140}
	if p.has(CacheUsage) {
		want.CacheRead, want.CacheWrite, want.Total = 3000, 200, 3340
	}
	if p.has(ReasoningUsage) {
		want.Reasoning = 25
	}
	m, _ := p.Open(t, Answer{Chunks: pieces(braid.ChunkText, 0, "x"), Stop: event.StopEndTurn, Usage: want})
	r := mustAnswer(t, Call(t.Context(), m, request()))
	if r.Usage != want {
		t.Errorf("usage %+v, want %+v", r.Usage, want)
	}
	if r.Model == "" {
		t.Error("nobody says which model answered")
	}
}
