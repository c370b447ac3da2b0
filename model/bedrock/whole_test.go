package bedrock

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// A whole response with every kind of block (API_runtime_ContentBlock).
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	f := familyOf(novaID)
	var chunks []model.Chunk
	d := decoder{family: &f, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
	err := d.answer([]byte(`{"metrics":{"latencyMs":551},"output":{"message":{"role":"assistant","content":[` +
		`{"text":"<thinking>Hm.</thinking>\n\nSo."},` +
		`{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use","input":{"q":1}}},` +
		`{"citationsContent":{"content":[{"text":"It "},{"text":"is."}],"citations":[{"title":"E","location":{"web":{"url":"https://e.com"}}}]}},` +
		`{"image":{"format":"png","source":{"bytes":"iVBORw=="}}},` +
		`{"toolUse":{"toolUseId":"t","name":"f","input":{"a": 1}}},` +
		`{"reasoningContent":{"reasoningText":{"text":"Well.","signature":"c2ln"}}},` +
		`{"audio":{"format":"mp3"}}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`))
	got := modeltest.Put(chunks, err)
	raw := func(kind, s string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind(kind), Raw: json.RawMessage(s)}
	}
	want := []event.Block{
		&event.Thinking{Text: "Hm."}, &event.Text{Text: "So."},
		raw("bedrock.toolUse", `{"kind":"bedrock.toolUse","toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use","input":{"q":1}}}`),
		&event.Text{Text: "It is."}, &event.Citation{Title: "E", URL: "https://e.com"}, &event.Image{MIME: "image/png", Data: []byte("\x89PNG")},
		&event.ToolCall{ID: "t", Name: "f", Args: json.RawMessage(`{"a": 1}`)}, &event.Thinking{Text: "Well.", Signature: "bedrock.c2ln"},
		raw("bedrock.audio", `{"kind":"bedrock.audio","audio":{"format":"mp3"}}`),
	}
	if diff := cmp.Diff(want, got.Content); err != nil || diff != "" || got.Stop != event.StopToolUse || got.Usage.Total != 3 {
		t.Errorf("%v %s %+v\n%s", err, got.Stop, got.Usage, diff)
	}
	for _, body := range []string{`{`, `{}`, `{"stopReason":""}`, `{"stopReason":"end_turn","output":{"message":{"content":[{"text":1}]}}}`} {
		d := decoder{family: &f, yield: func(model.Chunk, error) bool { return true }}
		if err := d.answer([]byte(body)); err == nil {
			t.Errorf("%s is an answer", body)
		}
	}
}
