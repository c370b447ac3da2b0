package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// anyHistory sends conversations that nobody has thought of: the vendor takes each,
// because whatever the loop holds can be sent.
func anyHistory(t *testing.T, p *Provider) {
	p.shows(t, historiesTaken)
	list := make([]Answer, 5000) // a request that is refused takes none
	for i := range list {
		list[i] = whole
	}
	m, _ := p.Open(t, list...)
	rapid.Check(t, func(rt *rapid.T) {
		g := writer{p: p, t: rt}
		req := request(g.conversation()...)
		req.Tools = []model.ToolSpec{tool("add"), tool("with.dots"), tool("日本")}[:rapid.IntRange(0, 3).Draw(rt, "tools")]
		req.Instructions = rapid.SampledFrom([]string{"", " ", "Be brief."}).Draw(rt, "instructions")
		req.Options.Thinking = rapid.SampledFrom([]int{0, 1, 2000}).Draw(rt, "thinking")
		if p.has(Thinking) || req.Options.Thinking == 0 {
			req.Options.MaxTokens = rapid.SampledFrom([]int{0, 4000}).Draw(rt, "most")
		}
		if r := Call(t.Context(), m, req); r.Err != nil || r.Stops != 1 {
			shown := &strings.Builder{}
			for _, m := range req.Messages {
				fmt.Fprintf(shown, "%s %s\n", m.Role, p.raw(m.Content))
			}
			rt.Fatalf("%v\n%s", r.Err, shown)
		}
	})
}

// writer writes conversations.
type writer struct {
	p *Provider
	t *rapid.T
}

var (
	words = []string{"", " ", "\n\t", "Hm.", "日本語 🙂", "a\xffb", "\x00\x1b[31m", "</thinking>", "<thinking>", strings.Repeat("long ", 300)}
	ids   = []string{
		"", "c1", "c2", "call/1.2:é", "call/1:2.é", "toolu_01", "call_1|fc_2", "x y", strings.Repeat("id", 60), strings.Repeat("id", 60) + "2",
	}
	names = []string{
		"add", "mul", "with.dots", "日本", "gone/since", "", "a-b", "a_b", strings.Repeat("name", 40), strings.Repeat("name", 40) + "2", "1st",
	}
	arguments = []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2,null]},"日":"本"}`, `[1]`, `"x"`, `null`, `3`, ` { "a" : 1e400 } `}
)

func (w *writer) pick(label string, from []string) string {
	return rapid.SampledFrom(from).Draw(w.t, label)
}

func (w *writer) conversation() []event.Message {
	list := []event.Message{user(w.asked(false)...)}
	for range rapid.IntRange(0, 4).Draw(w.t, "turns") {
		a := w.answer()
		var results []event.Block
		for _, b := range a {
			if c, ok := b.(*event.ToolCall); ok {
				results = append(results, w.result(c))
			}
		}
		next := results
		if len(results) == 0 || rapid.Bool().Draw(w.t, "and a message") {
			if more := w.asked(false); rapid.Bool().Draw(w.t, "before") {
				next = append(more, results...)
			} else {
				next = append(next, more...)
			}
		}
		list = append(list, assistant(a...), user(next...))
	}
	// What is newest must be something that the vendor reads.
	last := &list[len(list)-1]
	kept := last.Content[:0]
	for _, b := range last.Content {
		switch b.(type) {
		case *event.Text, *event.ToolResult:
			kept = append(kept, b)
		}
	}
	last.Content = append(kept, text("Go on."))
	return list
}

// asked is what a person sends.
func (w *writer) asked(result bool) []event.Block {
	var out []event.Block
	for range rapid.IntRange(0, 3).Draw(w.t, "blocks") {
		switch rapid.IntRange(0, 6).Draw(w.t, "block") {
		case 0:
			out = append(out, &event.Image{MIME: w.pick("kind", []string{"", "image/png", "image/tiff"}), Data: Pixel()})
		case 1:
			out = append(out, &event.Document{
				Name: w.pick("name", words), MIME: w.pick("kind", []string{"", "text/plain", "application/zip"}), Data: []byte(w.pick("data", words)),
			})
		case 2:
			if !result {
				out = append(out, &event.Media{Media: "audio", URL: "https://example.com/a"})
			}
		case 3:
			out = append(out, w.unknown())
		default:
			out = append(out, text(w.pick("text", words)))
		}
	}
	return out
}

func (w *writer) result(c *event.ToolCall) event.Block {
	r := &event.ToolResult{Call: c.ID, Name: c.Name, Content: w.asked(true), IsError: rapid.Bool().Draw(w.t, "failed")}
	if rapid.Bool().Draw(w.t, "structured") {
		r.Structured = json.RawMessage(`{"sum":3}`)
	}
	return r
}

func (w *writer) unknown() event.Block {
	name := w.pick("unknown", []string{"hologram", "x-other/search", "other.thing"})
	return &event.UnknownBlock{Name: event.BlockKind(name), Raw: json.RawMessage(`{"kind":"` + name + `","x":1}`)}
}

// signature is another provider's, or none.
func (w *writer) signature() string {
	from := []string{""}
	for _, mark := range []string{"", "openai.", "gemini.", "bedrock."} {
		if mark != w.p.Own || !w.p.has(SignedThinking) {
			from = append(from, signatures[mark])
		}
	}
	return w.pick("signature", from)
}

// answer is what a model, of whichever provider, has said.
func (w *writer) answer() []event.Block {
	var out []event.Block
	taken := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(w.t, "blocks") {
		switch rapid.IntRange(0, 9).Draw(w.t, "block") {
		case 0:
			out = append(out, &event.Thinking{Text: w.pick("text", words), Signature: w.signature()})
		case 1:
			if !w.p.has(RedactedThinking) {
				out = append(out, &event.RedactedThinking{Data: "c2VjcmV0"})
			}
		case 2:
			out = append(out, &event.Image{MIME: "image/png", Data: Pixel()})
		case 3:
			out = append(out, &event.Code{Language: "python", Code: w.pick("code", words)})
			out = append(out, &event.CodeResult{Outcome: "ok", Output: w.pick("output", words)})
		case 4:
			out = append(out, &event.Citation{Title: "T", URL: "https://example.com", Quote: w.pick("quote", words)})
		case 5:
			out = append(out, w.unknown())
		case 6:
			out = append(out, &event.Text{Text: w.pick("text", words), Signature: w.signature()})
		default:
			c := &event.ToolCall{ID: w.pick("id", ids), Name: w.pick("tool", names), Signature: w.signature()}
			if taken[c.ID] {
				continue // an answer's calls differ
			}
			taken[c.ID] = true
			if rapid.Bool().Draw(w.t, "readable") {
				c.Args = json.RawMessage(w.pick("arguments", arguments))
			} else {
				c.Invalid, c.Fault = w.pick("arguments", []string{"", `{"a":`, "a is 1", "\xff"}), "it cannot be read"
			}
			out = append(out, c)
		}
	}
	return out
}
