package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// A form of an MCP server is asked field by field, until it fits; an address is not opened.
func TestAnswerAnMCPServer(t *testing.T) {
	t.Parallel()
	form := `{"type":"object","properties":{"city":{"type":"string","title":"City","minLength":3},"nights":{"type":"integer"},"bed":{"type":"string","enum":["one","two"]}},"required":["city"]}`
	accept := `{"anyOf":[{"type":"object","properties":{"action":{"enum":["accept"]},"content":` + form + `},"required":["action","content"]},` +
		`{"type":"object","properties":{"action":{"enum":["decline","cancel"]}},"required":["action"],"additionalProperties":false}]}`
	for _, c := range []struct{ name, mode, lines, want, says string }{
		{"all fields", "form", "y|Lisbon|two|x|3", `{"action":"accept","content":{"bed":"two","city":"Lisbon","nights":3}}`, "JSON of type integer"},
		{"what is required", "form", "yes|Lisbon||", `{"action":"accept","content":{"city":"Lisbon"}}`, ""},
		{"one that does not fit", "form", "y|L|||y|Lisbon||", `{"action":"accept","content":{"city":"Lisbon"}}`, "Answer the form?"},
		{"no", "form", "maybe|n", `{"action":"decline"}`, "y or n"},
		{"an address", "url", "y", `{"action":"accept"}`, ""},
		{"no address", "url", "n", `{"action":"decline"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			payload, err := json.Marshal(mcptool.Elicitation{Server: "lab", Mode: c.mode, Message: "Which?", Schema: json.RawMessage(form)})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			a := &asker{lines: &typed{strings.Split(c.lines, "|")}, out: &out, look: term.Screen{Width: 80}}
			got, err := a.ask(t.Context(), &event.Asked{
				Ask: event.AskInput, Name: "mcp_elicitation", Prompt: "The MCP server asks", Payload: payload, Schema: json.RawMessage(accept),
			})
			raw, _ := json.Marshal(got)
			if err != nil || string(raw) != c.want || !strings.Contains(out.String(), c.says) {
				t.Errorf("%s, %v after %q", raw, err, out.String())
			}
		})
	}
}
