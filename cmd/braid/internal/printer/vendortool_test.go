package printer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// A tool that the provider runs is one line, in every vendor's form.
func TestTheProvidersToolsAreShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	raw := func(s string) event.Block { return &event.UnknownBlock{Name: "vendor.block", Raw: json.RawMessage(s)} }
	for want, block := range map[string]event.Block{
		"the provider ran web_search: rain in Oslo":  raw(`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"rain in Oslo"}}`),
		"the provider ran web_search: a b":           raw(`{"type":"web_search_call","action":{"type":"find_in_page","url":"a","pattern":"b"}}`),
		"the provider ran file_search: one; two":     raw(`{"type":"file_search_call","queries":["one","two"]}`),
		`the provider ran find of docs: {"a":1}`:     raw(`{"type":"mcp_call","name":"find","server_label":"docs","arguments":"{\"a\":1}"}`),
		`the provider ran list of docs: {"n":2}`:     raw(`{"type":"mcp_tool_use","name":"list","server_name":"docs","input":{"n":2}}`),
		"the provider ran nova_grounding":            raw(`{"toolUse":{"type":"server_tool_use","name":"nova_grounding","input":{}}}`),
		"the provider ran python: print(1)␊print(2)": &event.Code{Language: "python", Code: "print(1)\nprint(2)"},
		"the program ended: failed, no file":         &event.CodeResult{Outcome: "failed", Output: "no file\n"},
		"the program ended: ok":                      &event.CodeResult{},
		"the provider ran x: " + long[:160] + "…":    raw(`{"type":"mcp_call","name":"x","arguments":"` + long + `"}`),
	} {
		if got := vendorsWords(block); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, other := range []event.Block{
		&event.Text{Text: "x"}, raw(`{"type":"web_search_tool_result","tool_use_id":"s"}`), raw(`{"toolUse":{"toolUse":{"type":"mcp_call","name":"x"}}}`),
		raw(`[1]`), raw(`{"type":7}`), raw(`{"type":"server_tool_use","input":[]}`), raw(``),
	} {
		if got := vendorsWords(other); got != "" {
			t.Errorf("%v: %q", other, got)
		}
	}
	shown := tell(t, inPipe, []*event.Event{ev(1, "m1", &event.AssistantMessage{Content: []event.Block{
		raw(`{"type":"server_tool_use","name":"web_search","input":{"query":"rain\u001b[2J"}}`), &event.Text{Text: "It rains."},
	}, Stop: event.StopEndTurn})})
	inner := tell(t, inPipe, []*event.Event{inScope("s2", "helper", ev(1, "m2", &event.AssistantMessage{Content: []event.Block{
		raw(`{"type":"web_search_call","action":{"query":"snow"}}`),
	}, Stop: event.StopEndTurn}))})
	if !strings.Contains(inner, "the provider ran web_search: snow") {
		t.Errorf("of an agent below, the terminal shows %q", inner)
	}
	if !strings.Contains(shown, "the provider ran web_search: rain") || strings.Contains(shown, "\x1b[2J") {
		t.Errorf("the terminal shows %q", shown)
	}
}
