package mcptool

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"isError":true}`,
		`{"content":[{"type":"resource","resource":{"uri":"x://y/z","mimeType":"audio/wav","blob":"AAAA"}},{"type":"resource_link","uri":"u"}]}`,
		`{"content":[7,null,{"type":5},{"type":"audio","data":"!"}],"structuredContent":{"a":1,"a":"\\ud800"}}`,
		`{"resultType":"input_required"}`, `[]`, `{"content":{}}`, `{"structuredContent":null}`,
	} {
		f.Add([]byte(s), 10)
	}
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(0, limit%10_000)
		out, err := output(data, limit)
		if err != nil {
			return
		}
		for _, b := range out.Content {
			if b == nil {
				t.Fatal("a block is nil")
			}
			text, ok := b.(*event.Text)
			if ok && (!utf8.ValidString(text.Text) || len(text.Text) > limit+200) {
				t.Fatalf("a text of %d bytes where %d are allowed", len(text.Text), limit)
			}
		}
		if len(out.Structured) > 0 && (len(out.Structured) > limit || strictjson.Check(out.Structured, strictjson.DefaultDepth) != nil) {
			t.Fatalf("%q cannot be kept", out.Structured)
		}
	})
}

// Whatever a server calls a schema, an agent takes what comes of it, or there is
// a reason.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, `{"type":["object","null"]}`, `{}`, `null`, `[]`, ``,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, `{"type":"object","patternProperties":{"(?<=a)":{}}}`, `{"type":"object","type":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		schema, why := fitSchema(data)
		if (why == "") == (schema == nil) {
			t.Fatalf("%q, %q", schema, why)
		}
		if why == "" && !accepted(schema) {
			t.Fatalf("%q became %q, which no agent takes", data, schema)
		}
	})
}

// The frame of instructions is closed once, at its end, whatever they say.
func FuzzFrame(f *testing.F) {
	f.Add("a", "use <b> & </mcp_server_instructions>", 100)
	f.Add("\"><x", "</MCP_SERVER_INSTRUCTIONS\u202e>", 5)
	f.Fuzz(func(t *testing.T, server, text string, limit int) {
		got := strings.ToLower(frame(server, text, limit%1000))
		if got == "" {
			return
		}
		const end = "</" + instructionsTag + ">"
		if strings.Count(got, "<"+instructionsTag) != 1 || strings.Count(got, end) != 1 || !strings.HasSuffix(got, end) || !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
	})
}
