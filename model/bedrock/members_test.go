package bedrock

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// Whole responses of Claude 4.5 and later, and of Nova 2, have calls with a "type" (recorded by
// pydantic-ai and ruby_llm in us-east-1). Only server_tool_use is a call that the vendor runs
// (API_runtime_ToolUseBlock).
func TestACallCountsWithAndWithoutAType(t *testing.T) {
	t.Parallel()
	own := func(member string) []event.Block {
		return []event.Block{&event.UnknownBlock{
			Name: "bedrock.toolUse", Raw: json.RawMessage(`{"kind":"bedrock.toolUse","toolUse":` + member + `}`),
		}}
	}
	call := []event.Block{&event.ToolCall{ID: "t", Name: "f", Args: json.RawMessage(`{"a":1}`)}}
	for _, tc := range []struct {
		name, kind string
		want       []event.Block
		stop       event.StopReason
	}{
		{"none", ``, call, event.StopToolUse},
		{"empty", `,"type":""`, call, event.StopToolUse},
		{"the caller's", `,"type":"tool_use"`, call, event.StopToolUse},
		{"one of tomorrow", `,"type":"client_tool_use"`, call, event.StopToolUse},
		{"the vendor's", `,"type":"server_tool_use"`, nil, event.StopEndTurn},
	} {
		for _, name := range []string{claude, novaID} {
			whole, stream := tc.want, tc.want
			if tc.want == nil {
				whole = own(`{"toolUseId":"t","name":"f","input":{"a":1},"type":"server_tool_use"}`)
				stream = own(`{"input":{"a":1},"name":"f","toolUseId":"t","type":"server_tool_use"}`)
			}
			got, err := atOnce(name, `{"output":{"message":{"content":[{"toolUse":{"toolUseId":"t","name":"f","input":{"a":1}`+tc.kind+
				`}}]}},"stopReason":"tool_use"}`)
			if d := cmp.Diff(whole, got.Content); err != nil || d != "" || got.Stop != tc.stop {
				t.Errorf("%s, %s, whole: %v %s %s", tc.name, name, err, got.Stop, d)
			}
			got, err = decode(name, nil, strings.NewReader(frames(
				"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"f"`+tc.kind+`}}}`,
				"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":1}"}}}`,
				"contentBlockStop", `{"contentBlockIndex":0}`, "messageStop", `{"stopReason":"tool_use"}`, "metadata", `{}`,
			)))
			if d := cmp.Diff(stream, got.Content); err != nil || d != "" || got.Stop != tc.stop {
				t.Errorf("%s, %s, streamed: %v %s %s", tc.name, name, err, got.Stop, d)
			}
		}
	}
}

// Some answers name the kind of a block beside it. Go's maps have no order, so the test reads each
// form many times.
func TestBlocksDoNotDependOnTheOrderOfMaps(t *testing.T) {
	t.Parallel()
	raw := func(kind, value string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind("bedrock." + kind), Raw: json.RawMessage(`{"kind":"bedrock.` + kind + `","` + kind + `":` + value + `}`)}
	}
	text := []event.Block{&event.Text{Text: "Hello."}}
	call := []event.Block{&event.ToolCall{ID: "t", Name: "f", Args: json.RawMessage(`{"a":1}`)}}
	for name, tc := range map[string]struct {
		block, start, delta string
		want                []event.Block
	}{
		"text": {
			`{"type":"text","text":"Hello.","index":0}`, `{"type":"text"}`, `{"type":"text_delta","text":"Hello."}`, text,
		},
		"a call": {
			`{"type":"tool_use","toolUse":{"toolUseId":"t","name":"f","input":{"a":1}},"zone":{}}`,
			`{"zone":{},"toolUse":{"toolUseId":"t","name":"f"},"type":"tool_use"}`, `{"toolUse":{"input":"{\"a\":1}"},"type":"x"}`, call,
		},
		"something new": {
			`{"type":"hologram","hologram":{"size":3},"zone":{"a":1}}`, `{"zone":{"a":1},"hologram":{"size":3},"type":"hologram"}`, ``,
			[]event.Block{raw("hologram", `{"size":3}`)},
		},
		"two places of one citation": {
			`{"citationsContent":{"content":[{"text":"Hello."}],"citations":[{"location":{"web":{"url":"https://w.example"},"documentPage":{"url":"https://d.example"}}}]}}`,
			``, `{"text":"Hello.","citation":{"location":{"web":{"url":"https://w.example"},"documentPage":{"url":"https://d.example"}}}}`,
			append(text[:1:1], &event.Citation{URL: "https://w.example"}),
		},
	} {
		stream := []string{"messageStart", `{"role":"assistant"}`}
		if tc.start != "" {
			stream = append(stream, "contentBlockStart", `{"contentBlockIndex":0,"start":`+tc.start+`}`)
		}
		if tc.delta != "" {
			stream = append(stream, "contentBlockDelta", `{"contentBlockIndex":0,"delta":`+tc.delta+`}`)
		}
		stream = append(stream, "contentBlockStop", `{"contentBlockIndex":0}`, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{}`)
		for range 100 {
			got, err := atOnce(claude, `{"output":{"message":{"content":[`+tc.block+`]}},"stopReason":"end_turn"}`)
			if d := cmp.Diff(tc.want, got.Content); err != nil || d != "" {
				t.Fatalf("%s, whole: %v %s", name, err, d)
			}
			got, err = decode(claude, nil, strings.NewReader(frames(stream...)))
			if d := cmp.Diff(tc.want, got.Content); err != nil || d != "" {
				t.Fatalf("%s, streamed: %v %s", name, err, d)
			}
		}
	}
}

// Usage does not end an answer, only messageStop does (API_runtime_ConverseStreamOutput). They may
// come in either order.
func TestAnAnswerEndsWithItsStop(t *testing.T) {
	t.Parallel()
	const (
		start   = `{"role":"assistant"}`
		hello   = `{"contentBlockIndex":0,"delta":{"text":"Hello."}}`
		counted = `{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`
		stop    = `{"stopReason":"end_turn"}`
	)
	for name, tc := range map[string]struct {
		events []string
		whole  bool
	}{
		"stop, then usage": {[]string{"messageStop", stop, "metadata", counted}, true},
		"usage, then stop": {[]string{"metadata", counted, "messageStop", stop}, true},
		"usage alone":      {[]string{"metadata", counted}, false},
		"neither":          {nil, false},
	} {
		got, err := decode(claude, nil, strings.NewReader(frames(append([]string{"messageStart", start, "contentBlockDelta", hello}, tc.events...)...)))
		if tc.whole != (err == nil) || tc.whole != (got.Stops == 1) || tc.whole && (got.Stop != event.StopEndTurn || got.Usage.Total != 3) {
			t.Errorf("%s: %v, %d end signals, %s %+v", name, err, got.Stops, got.Stop, got.Usage)
		}
	}
}

// atOnce reads a whole response as the model with this name reads it.
func atOnce(name, body string) (modeltest.Read, error) {
	f := familyOf(name)
	var chunks []model.Chunk
	d := decoder{family: &f, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
	err := d.answer([]byte(body))
	return modeltest.Put(chunks, err), err
}
