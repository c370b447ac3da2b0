package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// unknownStop is a reason that no vendor gives yet.
const unknownStop event.StopReason = "something_new"

var counted = event.Usage{Input: 10, Output: 5, Total: 15}

// answers are the shapes that an answer can have.
func answers(t *testing.T, p *Provider) {
	long := strings.Repeat("日本語 and more. ", 4000)
	for _, tc := range []struct {
		name   string
		need   []Feature
		chunks []model.Chunk
		stop   event.StopReason
		want   []event.Block
	}{
		{
			"text",
			[]Feature{texts},
			pieces(model.ChunkText, 0, "Hel", "lo", ", 世界 🙂\n\"q\" \\ \t"), event.StopEndTurn,
			[]event.Block{text("Hello, 世界 🙂\n\"q\" \\ \t")},
		},
		{"a long text", []Feature{texts}, pieces(model.ChunkText, 0, long, long), event.StopEndTurn, []event.Block{text(long + long)}},
		{
			"two texts",
			[]Feature{SeveralTexts},
			join(pieces(model.ChunkText, 0, "a"), pieces(model.ChunkText, 1, "b")),
			event.StopEndTurn,
			[]event.Block{text("a"), text("b")},
		},
		{"text before a call", []Feature{textThenCall}, join(
			pieces(model.ChunkText, 0, "I ", "add."), calling(1, "c1", "add", `{"a"`, `: 3}`),
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
				pieces(model.ChunkCallInput, 0, `:1}`), pieces(model.ChunkCallInput, 1, `2`, `}`)),
			event.StopToolUse,
			[]event.Block{call("c1", "add", `{"a":1}`), call("c2", "mul", `{"a":2}`)},
		},
		{"a call without arguments", nil, calling(0, "c1", "now"), event.StopToolUse, []event.Block{call("c1", "now", ``)}},
		{"arguments in many pieces", []Feature{ArgumentPieces}, calling(
			0, "c1", "add", strings.Split(`{"a":12,"b":"é\n\u00e9\"x"}`, "")...,
		), event.StopToolUse, []event.Block{
			call("c1", "add", `{"a":12,"b":"é\n\u00e9\"x"}`),
		}},
		{
			"arguments that are cut",
			[]Feature{ArgumentPieces},
			calling(0, "c1", "add", `{"a":12,"b":"`), event.StopMaxTokens,
			[]event.Block{call("c1", "add", `{"a":12,"b":"`)},
		},
		{
			"arguments that are no JSON",
			[]Feature{ArgumentPieces},
			calling(0, "c1", "add", `a is twelve`), event.StopToolUse,
			[]event.Block{call("c1", "add", `a is twelve`)},
		},
		{
			"thinking without a signature",
			[]Feature{Thinking},
			join(pieces(model.ChunkThinking, 0, "Hm", ", so."), pieces(model.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Text: "Hm, so."}, text("Yes.")},
		},
		{
			"thinking",
			[]Feature{Thinking, SignedThinking},
			join(pieces(model.ChunkThinking, 0, "Hm", ", so."), pieces(model.ChunkSignature, 0, "sig-1"), pieces(model.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Text: "Hm, so.", Signature: p.signed("sig-1")}, text("Yes.")},
		},
		{
			"thinking that is not shown",
			[]Feature{Thinking, SignedThinking},
			join(pieces(model.ChunkSignature, 0, "sig-2"), pieces(model.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.Thinking{Signature: p.signed("sig-2")}, text("Yes.")},
		},
		{
			"redacted thinking",
			[]Feature{RedactedThinking},
			join([]model.Chunk{{Kind: model.ChunkBlock, Block: &event.RedactedThinking{Data: "xxxx"}}}, pieces(model.ChunkText, 1, "Yes.")),
			event.StopEndTurn,
			[]event.Block{&event.RedactedThinking{Data: "xxxx"}, text("Yes.")},
		},
		{"nothing", []Feature{slowly}, nil, event.StopEndTurn, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p.shows(t, tc.need...)
			slow := Answer{Chunks: tc.chunks, Stop: tc.stop, Usage: counted, Slow: true}
			if len(slow.Chunks) > 0 && len(slow.Chunks[0].Text) > 10_000 {
				slow.Slow = false // a byte at a time takes long
			}
			m, _ := p.Open(t, Answer{Chunks: tc.chunks, Stop: tc.stop, Usage: counted}, slow)
			req := request()
			req.Tools = []model.ToolSpec{tool("add"), tool("mul"), tool("now")}
			for _, speed := range []string{"at once", "one byte at a time"} {
				r := mustAnswer(t, Call(t.Context(), m, req))
				if got, want := p.raw(r.Content), p.raw(tc.want); got != want {
					t.Errorf("%s: content\n %s\nwant\n %s", speed, got, want)
				}
				if r.Stop != tc.stop {
					t.Errorf("%s: stop %q, want %q", speed, r.Stop, tc.stop)
				}
				if want := p.streamed(tc.chunks); r.Pieces < want {
					t.Errorf("%s: %d pieces were sent and %d came: something was held back", speed, want, r.Pieces)
				}
			}
		})
	}
}

// streamed counts the pieces that must come one by one.
func (p *Provider) streamed(chunks []model.Chunk) (n int) {
	for _, c := range chunks {
		if c.Text != "" && c.Kind != model.ChunkCall && (p.has(ArgumentPieces) || c.Kind != model.ChunkCallInput) {
			n++
		}
	}
	return n
}

// raw shows blocks with arguments that may be no JSON. Where the vendor sends them
// as JSON, it is the value that counts.
func (p *Provider) raw(content []event.Block) string {
	var b strings.Builder
	for _, c := range content {
		// What a provider needs to send thinking back is its own.
		switch t := c.(type) {
		case *event.Thinking:
			c = &event.Thinking{Text: t.Text, Signature: t.Signature}
		case *event.RedactedThinking:
			c = &event.RedactedThinking{Data: t.Data}
		default:
		}
		if k, ok := c.(*event.ToolCall); ok {
			args := string(k.Args)
			if !p.has(ArgumentPieces) {
				args = value(k.Args)
			}
			b.WriteString("call " + k.ID + " " + k.Name + " " + args + "\n ")
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
	list := p.stops()
	if p.has(UnknownStops) && !slices.Contains(list, unknownStop) {
		list = append(slices.Clone(list), unknownStop)
	}
	for _, stop := range list {
		t.Run(string(stop), func(t *testing.T) {
			t.Parallel()
			switch {
			case slices.Contains(reasons, stop):
				p.shows(t, stopRow(stop))
			case stop == unknownStop:
				p.shows(t, UnknownStops)
			}
			chunks := pieces(model.ChunkText, 0, "So ", "far.")
			if stop == event.StopToolUse {
				chunks = calling(0, "c1", "add", `{"a":1}`)
			}
			m, _ := p.Open(t, Answer{Chunks: chunks, Stop: stop, Usage: counted})
			req := request()
			req.Tools = []model.ToolSpec{tool("add")}
			if r := mustAnswer(t, Call(t.Context(), m, req)); r.Stop != stop {
				t.Errorf("stop %q, want %q", r.Stop, stop)
			}
		})
	}
}

// usage is what was counted.
func usage(t *testing.T, p *Provider) {
	plain := event.Usage{Input: 100, Output: 40, Total: 140}
	reads, writes, hours, thinks := plain, plain, plain, plain
	reads.CacheRead, reads.Total = 3000, 3140
	writes.CacheWrite, writes.Total = 200, 340
	hours.CacheWrite, hours.CacheWriteHour, hours.Total = 300, 120, 440
	thinks.Reasoning = 25
	for _, tc := range []struct {
		name string
		need []Feature
		want event.Usage
		late bool
	}{
		{"plain", []Feature{usageCounted}, plain, false},
		{"cache reads", []Feature{CacheUsage}, reads, false},
		{"cache writes", []Feature{CacheWrites}, writes, false},
		{"cache writes for an hour", []Feature{HourWrites}, hours, false},
		{"reasoning", []Feature{ReasoningUsage}, thinks, false},
		{"after the stop", []Feature{LateUsage}, plain, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p.shows(t, tc.need...)
			m, _ := p.Open(t, Answer{Chunks: pieces(model.ChunkText, 0, "x"), Stop: event.StopEndTurn, Usage: tc.want, LateUsage: tc.late})
			r := mustAnswer(t, Call(t.Context(), m, request()))
			if r.Usage != tc.want {
				t.Errorf("usage %+v, want %+v", r.Usage, tc.want)
			}
			if r.Model == "" {
				t.Error("nobody says which model answered")
			}
		})
	}
}

// value is arguments as their value: no arguments are an empty object.
func value(args json.RawMessage) string {
	if len(args) == 0 {
		return "{}"
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return string(args)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}
