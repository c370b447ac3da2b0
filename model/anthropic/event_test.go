package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awsframe"
)

// An answer in which the vendor searched the web by itself, and cites what it
// found (agents-and-tools/tool-use/web-search-tool).
const searched = `data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" \"x\"}"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.com"}]}}

data: {"type":"content_block_stop","index":1}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"It "}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://e.com","title":"E","cited_text":"is"}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"char_location","document_title":"D","cited_text":"so","start_char_index":3,"end_char_index":5}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"is."}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":" half \ud83d"}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"sparkle_delta","sparkle":"*"}}

data: {"type":"content_block_stop","index":2}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"whole":1}}}

data: {"type":"content_block_stop","index":3}

data: {"type":"brand_new_event","x":{"y":[1]}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}

data: {"type":"message_stop"}

`

func TestWhatTheVendorDoesItself(t *testing.T) {
	t.Parallel()
	got, err := decode(newLines(strings.NewReader(searched)))
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(kind, raw string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind(kind), Raw: json.RawMessage(raw)}
	}
	want := []event.Block{
		unknown(
			"anthropic.server_tool_use",
			`{"kind":"anthropic.server_tool_use","type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}}`,
		),
		unknown("anthropic.web_search_tool_result", `{"kind":"anthropic.web_search_tool_result","type":"web_search_tool_result",`+
			`"tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.com"}]}`),
		&event.Text{Text: "It is. half \uFFFD"},
		&event.Citation{Title: "E", URL: "https://e.com", Quote: "is"},
		&event.Citation{Title: "D", Quote: "so", Start: 3, End: 5},
		&event.ToolCall{ID: "t", Name: "f", Args: json.RawMessage(`{"whole":1}`)},
	}
	if d := cmp.Diff(want, got.Content); d != "" {
		t.Error(d)
	}
	if got.Usage != (event.Usage{Input: 1, Output: 9, Total: 10, Reasoning: 4}) {
		t.Errorf("%+v", got.Usage)
	}
	// The log keeps it, and it goes back as it came.
	line, err := event.AppendMessage(nil, event.Message{Role: event.RoleAssistant, Content: got.Content[:3]})
	if err != nil {
		t.Fatal(err)
	}
	var kept event.Message
	if err := json.Unmarshal(line, &kept); err != nil {
		t.Fatal(err)
	}
	back := shape(t, kept.Content)
	if len(back) != 3 || back[0]["type"] != "server_tool_use" || back[0]["kind"] != nil || back[1]["tool_use_id"] != "srvtoolu_1" {
		t.Errorf("%v", back)
	}
}

// The short way and the long way say the same of every event.
func FuzzDelta(f *testing.F) {
	for line := range strings.Lines(searched + deltas(9)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			f.Add(strings.TrimSpace(data))
		}
	}
	f.Add(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"\u00e9\""}}`)
	f.Add(`{"delta":{"signature":"s","type":"signature_delta"},"index":7,"type":"content_block_delta"}`)
	f.Add(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","thinking":"b"}}`)
	f.Fuzz(func(t *testing.T, data string) {
		var short, long []model.Chunk
		a := decoder{yield: func(c model.Chunk, _ error) bool { short = append(short, c); return true }}
		if !a.delta([]byte(data)) {
			return
		}
		b := decoder{yield: func(c model.Chunk, _ error) bool { long = append(long, c); return true }}
		if err := b.whole([]byte(data)); err != nil {
			t.Fatalf("the long way says %v", err)
		}
		if d := cmp.Diff(long, short); d != "" {
			t.Fatalf("-long +short:\n%s", d)
		}
	})
}

// Whatever comes, a stream ends with at most one end signal, and with an error
// where there is none.
func FuzzStream(f *testing.F) {
	f.Add(searched)
	f.Add(deltas(3))
	f.Add("data:\n\nid: 1\ndata: {}\n\n: comment\nevent: x\r\ndata: [\r\n\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		got, err := decode(newLines(strings.NewReader(body)))
		if (err == nil) != (got.Stops == 1) || got.Stops > 1 {
			t.Fatalf("%d end signals and %v", got.Stops, err)
		}
	})
}

// Whatever comes, in either form, is read or refused, and the same by the byte.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(framed(deltas(3))))
	f.Add([]byte(framed("data: {\"type\":\"message_stop\"}\n\n")))
	f.Add(awsframe.Append(nil, "event", "chunk", []byte(`{"bytes":"e30=","bytes":"?"}`)))
	f.Add(awsframe.Append(nil, "exception", "throttlingException", []byte(`{"message":"slow"}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decode(newFrames(bytes.NewReader(b)))
		again, err2 := decode(newFrames(iotest.OneByteReader(bytes.NewReader(b))))
		if (err == nil) != (err2 == nil) || (err == nil) != (got.Stops == 1) {
			t.Fatalf("%v, %v, %d stops", err, err2, got.Stops)
		}
		if d := cmp.Diff(got.Content, again.Content); d != "" {
			t.Fatal(d)
		}
	})
}
