package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

func made(tb testing.TB, opts ...Option) *Model {
	tb.Helper()
	m, err := New(Default, secret.New("sk-ant-secret"), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func ask(tb testing.TB, m *Model, req *model.Request) []byte {
	tb.Helper()
	a, err := m.request(req, false)
	if err != nil {
		tb.Fatal(err)
	}
	body := a.body
	if !json.Valid(body) {
		tb.Fatalf("no JSON: %s", body)
	}
	return body
}

func question(s string) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: s}}}
}

// turn is an answer with n calls, and their results.
func turn(id string, n int) []event.Message {
	a := event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "I look."}}}
	r := event.Message{Role: event.RoleUser}
	for i := range n {
		c := fmt.Sprintf("%s_%d", id, i)
		a.Content = append(a.Content, &event.ToolCall{ID: c, Name: "add", Args: json.RawMessage(`{"a":1,"b":"two"}`)})
		r.Content = append(r.Content, &event.ToolResult{Call: c, Name: "add", Content: []event.Block{&event.Text{Text: "three"}}})
	}
	return []event.Message{a, r}
}

var add = []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}

const point = `"cache_control":{"type":"ephemeral"}`

// Over 20 turns the next request begins with the bytes of the one before, up to
// its last cache point.
func TestCachedBytesStay(t *testing.T) {
	t.Parallel()
	for _, points := range []CachePoints{CacheAuto, CacheExplicit} {
		m := made(t, Cache(points))
		req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: []event.Message{question("Go.")}}
		var before []byte
		for n := range 20 {
			body := ask(t, m, req)
			if c := bytes.Count(body, []byte(point)); c < 2 || c > 4 {
				t.Fatalf("%s, turn %d: %d cache points", points, n, c)
			}
			end := bytes.LastIndex(body, []byte(`]}],`)) // of the messages
			if points == CacheExplicit {
				// The API compares what is asked, not where points were.
				body = bytes.ReplaceAll(body, []byte(","+point), nil)
				end = bytes.LastIndex(body, []byte(`]}],`))
			}
			if before != nil && !bytes.HasPrefix(body, before) {
				t.Fatalf("%s, turn %d: the request does not begin as the one before:\n%s\n%s", points, n, before, body)
			}
			before = bytes.Clone(body[:end])
			req.Messages = append(req.Messages, turn(fmt.Sprint("t", n), 2)...)
		}
	}
}

// The API looks back 20 blocks from a point: a longer turn needs one in between.
func TestALongTurnIsBridged(t *testing.T) {
	t.Parallel()
	m := made(t)
	req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: []event.Message{question("Go.")}}
	ask(t, m, req)
	for n, calls := range []int{2, 32, 2, 40, 40} {
		last := req.Messages[len(req.Messages)-1].Content
		req.Messages = append(req.Messages, turn(fmt.Sprint("t", n), calls)...)
		body := ask(t, m, req)
		var sent struct {
			Messages []struct {
				Content []map[string]any `json:"content"`
			} `json:"messages"`
			Cache any `json:"cache_control"`
		}
		if err := json.Unmarshal(body, &sent); err != nil || sent.Cache == nil {
			t.Fatalf("%v: %s", err, body)
		}
		at := sent.Messages[len(sent.Messages)-3].Content
		_, bridged := at[len(at)-1]["cache_control"]
		if len(at) != len(last) || bridged != (calls > 2) {
			t.Errorf("a turn of %d calls: bridged %v", calls, bridged)
		}
	}
}

func TestPointsWithoutInstructionsOrOff(t *testing.T) {
	t.Parallel()
	req := &model.Request{Tools: add, Messages: []event.Message{question("Go.")}}
	if b := ask(t, made(t), req); !bytes.Contains(b, []byte(`{"type":"integer"}}},`+point+`}],"messages"`)) || bytes.Count(b, []byte(point)) != 2 {
		t.Errorf("tools alone: %s", b)
	}
	if b := ask(t, made(t, Cache(CacheOff)), req); bytes.Contains(b, []byte("cache_control")) {
		t.Errorf("off: %s", b)
	}
}

// What is sent from a warm history is what would be sent afresh, whatever
// happened to the conversation in between.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		warm, err := New(Default, secret.New("k"), Cache(rapid.SampledFrom([]CachePoints{CacheAuto, CacheExplicit}).Draw(t, "points")))
		if err != nil {
			t.Fatal(err)
		}
		id := rapid.SampledFrom([]string{"a", "a_2", "b", "c/d", ""})
		first := question("Go.")
		branches := [][]event.Message{{first}}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			k := rapid.IntRange(0, len(branches)-1).Draw(t, "branch")
			b := branches[k]
			switch rapid.SampledFrom([]string{"turn", "turn", "turn", "say", "steer", "rewind", "fork", "replace"}).Draw(t, "what") {
			case "turn":
				c := id.Draw(t, "id")
				b = append(slices.Clip(b), event.Message{Role: event.RoleAssistant, Content: []event.Block{
					&event.Thinking{Text: "hm", Signature: "s"}, &event.ToolCall{ID: c, Name: "add", Args: json.RawMessage(`{"a":1}`)},
				}}, event.Message{
					Role:    event.RoleUser,
					Content: []event.Block{&event.ToolResult{Call: c, Content: []event.Block{&event.Text{Text: "r"}}}},
				})
			case "say":
				b = append(
					slices.Clip(b),
					event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "ok"}}},
					question("more"),
				)
			case "steer":
				last := b[len(b)-1]
				b = append(
					b[:len(b)-1:len(b)-1],
					event.Message{Role: last.Role, Content: append(slices.Clip(last.Content), &event.Text{Text: "now"})},
				)
			case "rewind":
				n := 1 + 2*rapid.IntRange(0, (len(b)-1)/2).Draw(t, "to")
				b = b[:n:n]
			case "fork":
				branches = append(branches, b)
			case "replace": // compacted: it begins with something else
				b = append([]event.Message{question("summary")}, b[min(len(b), 3):]...)
				if len(b) > 1 && b[1].Role == event.RoleUser {
					b = b[1:]
				}
			}
			branches[k] = b
			req := &model.Request{Instructions: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "instructions"), Tools: add, Messages: b}
			got, err := warm.request(req, false)
			if err != nil {
				t.Fatal(err)
			}
			cold, _ := New(Default, secret.New("k"), Cache(warm.cache))
			want, err := cold.request(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.body, want.body) {
				t.Fatalf("warm\n%s\ncold\n%s", got.body, want.body)
			}
		}
	})
}

// The exact bytes of what is less than obvious.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	u := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: b} }
	a := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleAssistant, Content: b} }
	png := &event.Image{Data: modeltest.Pixel()}
	for _, tc := range []struct {
		name     string
		messages []event.Message
		want     string
	}{
		{"an id that comes again", []event.Message{
			question("q"), a(&event.ToolCall{ID: "x", Name: "f"}), u(&event.ToolResult{Call: "x"}),
			a(&event.ToolCall{ID: "x", Name: "f"}), u(&event.ToolResult{Call: "x"}),
		}, `,{"role":"assistant","content":[{"type":"tool_use","id":"x_2","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x_2"}]}]`},
		{
			"a failure with a picture",
			[]event.Message{question("q"), a(&event.ToolCall{ID: "x", Name: "f"}), u(&event.Text{Text: "so?"},
				&event.ToolResult{Call: "x", IsError: true, Content: []event.Block{&event.Text{Text: "no"}, png}})},
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":[{"type":"text","text":"no"}]},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAE="}},{"type":"text","text":"so?"}]}]`,
		},
		{"a block of the vendor's own", []event.Message{question("q"), a(&event.UnknownBlock{
			Name: "anthropic.server_tool_use", Raw: json.RawMessage(`{"kind":"anthropic.server_tool_use","type":"server_tool_use","id":"s","name":"web_search","input":{}}`),
		}, &event.Text{Text: "t"}), question("q")}, `[{"id":"s","input":{},"name":"web_search","type":"server_tool_use"},{"type":"text","text":"t"}]`},
		{
			"arguments that are no object",
			[]event.Message{question("q"), a(&event.ToolCall{ID: "x", Name: "f", Args: json.RawMessage(` [1, 2] `)},
				&event.ToolCall{ID: "y", Name: "f", Invalid: `{"a`, Fault: "cut"}), u(&event.ToolResult{Call: "x"}, &event.ToolResult{Call: "y"})},
			`"input":{"value":[1,2]}},{"type":"tool_use","id":"y","name":"f","input":{"unreadable":"{\"a"}}`,
		},
	} {
		body := ask(t, made(t, Cache(CacheOff)), &model.Request{Messages: tc.messages})
		if !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: want\n%s\nin\n%s", tc.name, tc.want, body)
		}
	}
}

func TestOptionsOfACall(t *testing.T) {
	t.Parallel()
	temperature := 0.25
	for _, tc := range []struct {
		model   string
		version string
		options model.Options
		want    string
	}{
		{"claude-sonnet-5-5", "", model.Options{}, `"max_tokens":32000,`},
		{
			"claude-sonnet-5-5", "",
			model.Options{MaxTokens: 7, Thinking: 1},
			`"thinking":{"type":"adaptive","display":"summarized"},"max_tokens":7,`,
		},
		{"claude-opus-4-6", "", model.Options{Thinking: 1}, `{"type":"adaptive"`},
		{"my-gateway-alias", "", model.Options{Thinking: 1}, `{"type":"adaptive"`},
		{"claude-haiku-4-5", "", model.Options{Thinking: 1}, `"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":32000,`},
		{"claude-haiku-4-5", "", model.Options{Thinking: 60000}, `"budget_tokens":60000},"max_tokens":68000,`},
		{"claude-opus-4-20250514", "", model.Options{Thinking: 3000, MaxTokens: 5000}, `"budget_tokens":3000},"max_tokens":5000,`},
		{"claude-3-7-sonnet-20250219", "", model.Options{Thinking: 3000, MaxTokens: 5000}, `"budget_tokens":3000}`},
		{"claude-3-haiku-20240307", "", model.Options{}, `"max_tokens":4096,`},
		{"claude-sonnet-4-5", "2023-06-01", model.Options{Temperature: &temperature}, `"temperature":0.25`},
		{"claude-sonnet-5-5", "", model.Options{StopWords: []string{"", " ", "END", "\n\nHuman:"}}, `"stop_sequences":["END","\n\nHuman:"]`},
	} {
		opts := []Option{}
		if tc.version != "" {
			opts = append(opts, Version(tc.version))
		}
		m, err := New(tc.model, secret.New("k"), opts...)
		if err != nil {
			t.Fatal(err)
		}
		body := ask(t, m, &model.Request{Messages: []event.Message{question("q")}, Options: tc.options})
		if !strings.Contains(string(body), tc.want) {
			t.Errorf("%s %+v: %s", tc.model, tc.options, body)
		}
	}
	for name, o := range map[string]model.Options{
		"claude-sonnet-5-5": {Temperature: &temperature}, "claude-haiku-4-5": {Thinking: 4000, MaxTokens: 4000},
	} {
		m, err := New(name, secret.New("k"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.request(&model.Request{
			Messages: []event.Message{question("q")}, Options: o,
		}, false); err == nil || !strings.Contains(err.Error(), "(") {
			t.Errorf("%s %+v: %v", name, o, err)
		}
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	const anything = `{"type":"object","properties":{}}`
	for in, want := range map[string]string{
		``: anything, `{}`: anything, ` { } `: anything, `true`: anything,
		`{"properties":{"a":{}}}`:       `{"type":"object","properties":{"a":{}}}`,
		`{ "x": 1, "type" : "object" }`: `{"type":"object","x":1,"properties":{}}`,
		`{"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}`: `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`,
		`{"type":["object","null"]}`: ``, `{"type":"string"}`: ``, `[]`: ``, `{"type":`: ``, `{"a":1,"a":2}`: ``, `false`: ``,
	} {
		tool := model.ToolSpec{Name: "f", Schema: json.RawMessage(in)}
		a, err := made(t).request(&model.Request{Messages: []event.Message{question("q")}, Tools: []model.ToolSpec{tool}}, false)
		body := a.body
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), `"f"`) {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		if err != nil || !strings.Contains(string(body), `"tools":[{"name":"f","input_schema":`+want+",") {
			t.Errorf("%s: %s, %v", in, body, err)
		}
	}
	tool := model.ToolSpec{
		Name: "f", Description: "Does.",
		Schema: json.RawMessage(`{"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]},"b":{}}}`),
	}
	b, err := made(t).appendTool(nil, &tool)
	want := `{"name":"f","description":"Does.\n\nThe input must also match this JSON schema: {\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",` +
		`"input_schema":{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]},"b":{}}}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v, want\n%s", b, err, want)
	}
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"claude-3-haiku-20240307": 300, "claude-3-5-sonnet-20241022": 305, "claude-3-7-sonnet-latest": 307, "claude-opus-4-20250514": 400,
		"claude-sonnet-4-5": 405, "claude-haiku-4-5-20251001": 405, "claude-opus-4-6": 406, "claude-opus-5": 500, "claude-sonnet-5-5": 505,
		"claude-fable-5-2": 502, "anthropic.claude-opus-4-1-20250805-v1:0": 401, "claude-opus-4@20250514": 400, "claude-10-2-x": 1002,
		"gpt-5": 0, "claude": 0, "claude-mythos-preview": 0,
	} {
		if g := generation(name); g != want {
			t.Errorf("%s is of generation %d, want %d", name, g, want)
		}
	}
}

// deltas are the pieces of an answer, as many as b asks for.
func deltas(n int) string {
	var s strings.Builder
	s.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n")
	s.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for i := range n {
		text := ` the next few words`
		if i%8 == 7 {
			text = `:\n- \"quoted\"`
		}
		s.WriteString("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text + "\"}}\n\n")
	}
	s.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
	s.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n")
	s.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return s.String()
}

func TestADeltaCostsOneAllocation(t *testing.T) { //nolint:paralleltest // it counts
	const n = 500
	short, long := deltas(0), deltas(n)
	for name, form := range map[string]struct {
		body func(string) string
		read func(string) events
	}{
		"the API's": {func(s string) string { return s }, func(s string) events { return newLines(strings.NewReader(s)) }},
		"Bedrock's": {framed, func(s string) events { return newFrames(strings.NewReader(s)) }},
	} {
		count := func(body string) float64 {
			body = form.body(body)
			return testing.AllocsPerRun(10, func() {
				d := decoder{yield: func(model.Chunk, error) bool { return true }}
				if err := d.run(form.read(body)); err != nil {
					t.Fatal(err)
				}
			})
		}
		if per := (count(long) - count(short)) / n; per > 1.3 { // escapes need a second one
			t.Errorf("%s: %.2f allocations a delta", name, per)
		}
	}
}

// framed is a stream of the API as Bedrock sends it.
func framed(body string) string {
	var b []byte
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b = awsframe.Append(b, "event", "chunk", fmt.Appendf(nil, `{"bytes":%q,"p":"abcdefgh"}`, base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(data)))))
		}
	}
	return string(b)
}
