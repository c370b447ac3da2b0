package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/recordings"
	"github.com/braidrun/braid/model/modeltest"
)

// frames makes a stream of events from names and payloads.
func frames(events ...string) string {
	var b []byte
	for i := 0; i < len(events); i += 2 {
		b = awsframe.Append(b, "event", events[i], []byte(events[i+1]))
	}
	return string(b)
}

// decode reads a stream as the model with this name reads it.
func decode(name string, g *Guardrail, in io.Reader) (modeltest.Read, error) {
	f := familyOf(name)
	var chunks []model.Chunk
	d := decoder{family: &f, guard: g, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
	guard := idle.New(context.Background(), 0)
	defer guard.End()
	err := d.run(guard, in)
	return modeltest.Put(chunks, err), err
}

// The stream of the user guide's example (conversation-inference-call,
// "ConverseStream response example"), and the call of its tool
// (tool-use-inference-call: top_song), as the API streams it.
var topSong = frames(
	"messageStart", `{"role": "assistant"}`,
	"contentBlockDelta", `{"delta": {"text": ""},"contentBlockIndex": 0}`,
	"contentBlockDelta", `{"delta": {"text": " Title"},"contentBlockIndex": 0}`,
	"contentBlockDelta", `{"delta": {"text": ":"},"contentBlockIndex": 0}`,
	"contentBlockStop", `{"contentBlockIndex": 0}`,
	"contentBlockStart", `{"start": {"toolUse": {"toolUseId": "tooluse_hbTgdi0CSLq_hM4P8csZJA","name": "top_song"}},"contentBlockIndex": 1}`,
	"contentBlockDelta", `{"delta": {"toolUse": {"input": ""}},"contentBlockIndex": 1,"p":"abcdefgh"}`,
	"contentBlockDelta", `{"delta": {"toolUse": {"input": "{\"sign\": \""}},"contentBlockIndex": 1,"p":"ab"}`,
	"contentBlockDelta", `{"delta": {"toolUse": {"input": "WZPZ\"}"}},"contentBlockIndex": 1,"p":"abcd"}`,
	"contentBlockStop", `{"contentBlockIndex": 1}`,
	"messageStop", `{"stopReason": "tool_use"}`,
	"metadata", `{"usage": {"inputTokens": 47,"outputTokens": 20,"totalTokens": 67},"metrics": {"latencyMs": 100}}`,
)

func TestTheExampleOfTheGuide(t *testing.T) {
	t.Parallel()
	want := []event.Block{
		&event.Text{Text: " Title:"},
		&event.ToolCall{ID: "tooluse_hbTgdi0CSLq_hM4P8csZJA", Name: "top_song", Args: json.RawMessage(`{"sign": "WZPZ"}`)},
	}
	for way, in := range recordings.Ways(topSong) {
		got, err := decode(claude, nil, in)
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if d := cmp.Diff(want, got.Content); d != "" || got.Stop != event.StopToolUse || got.Usage != (event.Usage{Input: 47, Output: 20, Total: 67}) {
			t.Errorf("%s: %s\n%s %+v", way, d, got.Stop, got.Usage)
		}
	}
}

// A cut stream is an error of a known kind and never an answer. The exception is a stream that ends
// after its end signal: then only the usage is unknown.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	stop := len(topSong) - len(frames("metadata", `{"usage": {"inputTokens": 47,"outputTokens": 20,"totalTokens": 67},"metrics": {"latencyMs": 100}}`))
	for n := range len(topSong) {
		for _, broken := range []bool{false, true} {
			var in io.Reader = strings.NewReader(topSong[:n])
			if broken {
				in = io.MultiReader(in, iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			got, err := decode(claude, nil, in)
			if n == stop && !broken {
				if err != nil || got.Stops != 1 || got.Usage != (event.Usage{}) {
					t.Errorf("behind the end signal: %v, %d, %+v", err, got.Stops, got.Usage)
				}
				continue
			}
			if err == nil || got.Stops != 0 {
				t.Fatalf("cut at %d of %d: %v, %d end signals", n, len(topSong), err, got.Stops)
			}
		}
	}
}

// A changed byte anywhere makes the answer incomplete.
func TestChangedBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(topSong)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if got, err := decode(claude, nil, strings.NewReader(string(b))); err == nil || got.Stops != 0 {
			t.Fatalf("%v, %d end signals", err, got.Stops)
		}
	})
}

func TestExceptionsInTheStream(t *testing.T) {
	t.Parallel()
	begun := frames("messageStart", `{"role":"assistant"}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hel"}}`)
	m := made(t, novaID)
	for _, tc := range []struct {
		kind, name, payload string
		want                event.ErrorKind
	}{
		{"exception", "throttlingException", `{"message":"Too many tokens, please wait before trying again."}`, event.ErrThrottled},
		{"exception", "serviceUnavailableException", `{"message":"Bedrock is unable to process your request."}`, event.ErrOverloaded},
		{"exception", "internalServerException", `{"message":"oops"}`, event.ErrUnavailable},
		{"exception", "modelStreamErrorException", `{"message":"oops","originalStatusCode":500,"originalMessage":"x"}`, event.ErrUnavailable},
		{"exception", "modelStreamErrorException", `{"originalStatusCode":429,"originalMessage":"slow down"}`, event.ErrThrottled},
		{"exception", "validationException", `{"message":"Input is too long for requested model."}`, event.ErrContextOverflow},
		{"exception", "validationException", `{"message":"hm"}`, event.ErrInvalid},
		{"exception", "brandNewException", `{}`, event.ErrModel},
		{"error", "InternalError", ``, event.ErrModel},
	} {
		for _, behind := range []string{"", frames("messageStop", `{"stopReason":"end_turn"}`)} {
			_, err := decode(novaID, nil, strings.NewReader(begun+behind+string(awsframe.Append(nil, tc.kind, tc.name, []byte(tc.payload)))))
			a := &awserr.Said{}
			if !errors.As(err, &a) || a.Error() == "" {
				t.Fatalf("%s: %v", tc.name, err)
			}
			var e *event.Error
			if !errors.As(m.refusal(a, 1), &e) || e.Kind != tc.want || e.Hint == "" || e.Code != tc.name {
				t.Errorf("%s %s: %+v", tc.name, tc.payload, e)
			}
		}
	}
}

// Blocks other than text and calls, also unknown ones.
func TestOtherBlocks(t *testing.T) {
	t.Parallel()
	stream := frames(
		"messageStart", `{"role":"assistant"}`,
		"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s1","name":"nova_grounding","type":"server_tool_use"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"q\":"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"\"x\"}"}}}`,
		"contentBlockStop", `{"contentBlockIndex":0}`,
		"contentBlockStart", `{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"s1","status":"success","type":"nova_grounding_result"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"found"}]}}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolResult":[{"json":{"n":1}}]}}`,
		"contentBlockStop", `{"contentBlockIndex":1}`,
		"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"It "}}`,
		"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"citation":{"title":"E","location":{"web":{"url":"https://e.com","domain":"e.com"}}}}}`,
		"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"citation":{"title":"D","source":"d","sourceContent":[{"text":"so"}],`+
			`"location":{"documentChar":{"documentIndex":0,"start":3,"end":5}}}}}`,
		"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"is. half \ud83d"}}`,
		"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"sparkle":{"x":1}}}`,
		"contentBlockStop", `{"contentBlockIndex":2}`,
		"contentBlockStart", `{"contentBlockIndex":3,"start":{"image":{"format":"png"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":3,"delta":{"image":{"source":{"bytes":"iVBO"}}}}`,
		"contentBlockDelta", `{"contentBlockIndex":3,"delta":{"image":{"source":{"bytes":"Rw=="}}}}`,
		"contentBlockStop", `{"contentBlockIndex":3}`,
		"contentBlockStart", `{"contentBlockIndex":4,"start":{"hologram":{"size":3}}}`,
		"contentBlockStop", `{"contentBlockIndex":4}`,
		"brandNewEvent", `{"x":[1]}`,
		"messageStop", `{"stopReason":"malformed_model_output","additionalModelResponseFields":{"x":1}}`,
		"metadata", `{"usage":{"inputTokens":10,"outputTokens":2,"totalTokens":112,"cacheReadInputTokens":70,"cacheWriteInputTokens":30,`+
			`"cacheDetails":[{"ttl":"5m","inputTokens":10},{"ttl":"1h","inputTokens":20}]},"metrics":{"latencyMs":1},`+
			`"trace":{"promptRouter":{"invokedModelId":"amazon.nova-lite-v1:0"}},"serviceTier":{"type":"flex"},"performanceConfig":{"latency":"optimized"}}`,
	)
	unknown := func(kind, raw string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind(kind), Raw: json.RawMessage(raw)}
	}
	want := []event.Block{
		unknown("bedrock.toolUse", `{"kind":"bedrock.toolUse","toolUse":{"input":{"q":"x"},"name":"nova_grounding","toolUseId":"s1","type":"server_tool_use"}}`),
		unknown("bedrock.toolResult", `{"kind":"bedrock.toolResult","toolResult":{"content":[{"text":"found"},{"json":{"n":1}}],"status":"success",`+
			`"toolUseId":"s1","type":"nova_grounding_result"}}`),
		&event.Text{Text: "It is. half \uFFFD"},
		&event.Citation{Title: "E", URL: "https://e.com"},
		&event.Citation{Title: "D", URL: "d", Quote: "so", Start: 3, End: 5},
		&event.Image{MIME: "image/png", Data: []byte("\x89PNG")},
		unknown("bedrock.hologram", `{"kind":"bedrock.hologram","hologram":{"size":3}}`),
	}
	got, err := decode(novaID, nil, strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Content); d != "" {
		t.Error(d)
	}
	if got.Stop != "malformed_model_output" || got.Model != "amazon.nova-lite-v1:0" ||
		got.Usage != (event.Usage{Input: 10, Output: 2, Total: 112, CacheRead: 70, CacheWrite: 30, CacheWriteHour: 20}) {
		t.Errorf("%s %s %+v", got.Stop, got.Model, got.Usage)
	}
	// The log keeps the block, and the next request has it unchanged.
	line, err := event.AppendMessage(nil, msg(event.RoleAssistant, got.Content...))
	if err != nil {
		t.Fatal(err)
	}
	var kept event.Message
	if err := json.Unmarshal(line, &kept); err != nil {
		t.Fatal(err)
	}
	body := string(ask(t, made(t, novaID), &model.Request{Messages: []event.Message{question("q"), kept, question("q")}}))
	for _, raw := range []string{
		`{"toolUse":{"input":{"q":"x"},"name":"nova_grounding","toolUseId":"s1","type":"server_tool_use"}}`, `{"hologram":{"size":3}}`,
	} {
		if !strings.Contains(body, raw) {
			t.Errorf("%s is not in %s", raw, body)
		}
	}
}

// Claude's thinking has no mark, that of other vendors has one. Redacted thinking may come in
// pieces.
func TestThinking(t *testing.T) {
	t.Parallel()
	stream := frames(
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"bmF0"}}}`,
		"contentBlockStop", `{"contentBlockIndex":0}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"AQ=="}}}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"Ag=="}}}`,
		"contentBlockStop", `{"contentBlockIndex":1}`,
		// Some models give every block the number 0, or end no block.
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Well."}}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Yes."}}`,
		"messageStop", `{"stopReason":"end_turn"}`,
		"metadata", `{}`,
	)
	for name, mark := range map[string]string{claude: "", "qwen.qwen3-32b-v1:0": "bedrock."} {
		got, err := decode(name, nil, strings.NewReader(stream))
		want := []event.Block{
			&event.Thinking{Text: "Hm.", Signature: mark + "c2lnbmF0"}, &event.RedactedThinking{Data: mark + "AQI="},
			&event.Thinking{Text: "Well."}, &event.Text{Text: "Yes."},
		}
		if d := cmp.Diff(want, got.Content); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		body := string(ask(t, made(t, name), &model.Request{Messages: []event.Message{question("q"), msg(event.RoleAssistant, got.Content...), question("q")}}))
		for _, back := range []string{
			`{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2lnbmF0"}}}`, `{"reasoningContent":{"redactedContent":"AQI="}}`,
		} {
			if !strings.Contains(body, back) {
				t.Errorf("%s: %s is not in %s", name, back, body)
			}
		}
		if strings.Contains(body, "Well.") {
			t.Errorf("%s: thinking without a signature goes back: %s", name, body)
		}
	}
}

// Nova's <thinking> becomes a thinking block, wherever the pieces are cut. Similar text stays text.
func TestNovaThinksAloud(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []event.Block
	}{
		{"<thinking> The user wants a sum. </thinking>\n\nI add.", []event.Block{&event.Thinking{Text: "The user wants a sum. "}, &event.Text{Text: "I add."}}},
		{"Hi <thinking>a</thinking>", []event.Block{&event.Text{Text: "Hi "}, &event.Thinking{Text: "a"}}},
		{
			"<thinking>a<b</thinking>1<2 <think <thinking>\n</thinking>\n<thinking>c</thinking>d<", []event.Block{
				&event.Thinking{Text: "a<b"}, &event.Text{Text: "1<2 <think "}, &event.Thinking{Text: "c"}, &event.Text{Text: "d<"},
			},
		},
		{"<thinking>cut</think", []event.Block{&event.Thinking{Text: "cut</think"}}},
		{"<<thinking>x</thinking>", []event.Block{&event.Text{Text: "<"}, &event.Thinking{Text: "x"}}},
		{"</thinking> plain", []event.Block{&event.Text{Text: "</thinking> plain"}}},
	} {
		for cut := range len(tc.text) {
			for _, size := range []int{1, 3, len(tc.text)} {
				events := []string{}
				piece := func(s string) {
					for s != "" {
						n := min(size, len(s))
						b, _ := json.Marshal(map[string]any{"contentBlockIndex": 0, "delta": map[string]string{"text": s[:n]}})
						events, s = append(events, "contentBlockDelta", string(b)), s[n:]
					}
				}
				piece(tc.text[:cut])
				piece(tc.text[cut:])
				events = append(events, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{}`)
				got, err := decode(novaID, nil, strings.NewReader(frames(events...)))
				if d := cmp.Diff(tc.want, got.Content); err != nil || d != "" {
					t.Fatalf("%q cut at %d by %d: %v\n%s", tc.text, cut, size, err, d)
				}
			}
		}
	}
	// Other models may write the tag as text.
	got, err := decode(claude, nil, strings.NewReader(frames(
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"<thinking>a</thinking>"}}`, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{}`,
	)))
	if err != nil || len(got.Content) != 1 {
		t.Errorf("%v, %v", got.Content, err)
	}
}

// The results of a guardrail (guardrails-use-converse-api), and the answer that each gives.
func TestGuardrails(t *testing.T) {
	t.Parallel()
	const topic = `{"topicPolicy":{"topics":[{"name":"Avoid Heavy Metal","type":"DENY","action":"BLOCKED"}]},"invocationMetrics":{"usage":{"topicPolicyUnits":1}}}`
	const masked = `{"sensitiveInformationPolicy":{"piiEntities":[{"match":"x","type":"NAME","action":"ANONYMIZED","detected":true}]}}`
	const none = `{"wordPolicy":{"customWords":[{"match":"x","action":"BLOCKED","detected":false}]}}`
	all := Guardrail{InputText: "in", OutputText: "out", RedactOutput: true}
	kept := Guardrail{InputText: "in", OutputText: "out", KeepInput: true}
	for _, tc := range []struct {
		name, stop, trace string
		guard             *Guardrail
		in, out           string
	}{
		{"a question", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + topic + `}}}`, &all, "in", ""},
		{"an answer", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + none + `},"outputAssessments":{"g":[` + masked + `,` + topic + `]}}}`, &all, "", "out"},
		{"both", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + topic + `},"outputAssessments":{"g":[` + topic + `]}}}`, &all, "in", "out"},
		{"masked", "guardrail_intervened", `{"guardrail":{"outputAssessments":{"g":[` + masked + `]}}}`, &all, "", ""},
		{"nothing detected", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + none + `}}}`, &all, "", ""},
		{"no trace", "guardrail_intervened", `{}`, &all, "in", "out"},
		{"no trace, nothing blocked", "end_turn", `{}`, &all, "", ""},
		{"kept", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + topic + `},"outputAssessments":{"g":[` + topic + `]}}}`, &kept, "", ""},
		{"nobody's guardrail", "guardrail_intervened", `{"guardrail":{"inputAssessment":{"g":` + topic + `}}}`, nil, "", ""},
	} {
		got, err := decode(novaID, tc.guard, strings.NewReader(frames(
			"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Sorry, the model cannot answer this question."}}`,
			"messageStop", `{"stopReason":"`+tc.stop+`"}`, "metadata", `{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"trace":`+tc.trace+`}`,
		)))
		if err != nil || got.RedactedInput != tc.in || got.RedactedOutput != tc.out || string(got.Stop) != tc.stop || got.Usage.Total != 3 {
			t.Errorf("%s: %v %+v", tc.name, err, got)
		}
	}
}

// With one call at a time, an answer has one call, even if the model makes several.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	f := familyOf(claude)
	var chunks []model.Chunk
	d := decoder{family: &f, serial: true, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
	g := idle.New(t.Context(), 0)
	defer g.End()
	one := func(i, name string) []string {
		return []string{
			"contentBlockStart", `{"contentBlockIndex":` + i + `,"start":{"toolUse":{"toolUseId":"c` + i + `","name":"` + name + `"}}}`,
			"contentBlockDelta", `{"contentBlockIndex":` + i + `,"delta":{"toolUse":{"input":"{}"}}}`, "contentBlockStop", `{"contentBlockIndex":` + i + `}`,
		}
	}
	events := append(append(one("0", noTool), one("1", "add")...), one("2", "mul")...)
	err := d.run(g, strings.NewReader(frames(append(events, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{}`)...)))
	got := modeltest.Put(chunks, err)
	want := []event.Block{&event.ToolCall{ID: "c1", Name: "add", Args: json.RawMessage(`{}`)}}
	if d := cmp.Diff(want, got.Content); err != nil || d != "" || got.Stop != event.StopToolUse {
		t.Errorf("%v %s\n%s", err, got.Stop, d)
	}
}

// The fast decoder and the general one give the same result for every piece.
func FuzzDelta(f *testing.F) {
	r := awsframe.NewReader(strings.NewReader(topSong))
	for {
		m, err := r.Next()
		if err != nil {
			break
		}
		f.Add(string(m.Payload))
	}
	f.Add(`{"contentBlockIndex":1,"delta":{"reasoningContent":{"text":"a\u00e9"}},"p":"x"}`)
	f.Add(`{"delta":{"reasoningContent":{"signature":"s","text":"t"}},"contentBlockIndex":7}`)
	f.Add(`{"contentBlockIndex":0,"delta":{"text":"a","toolUse":{"input":"b"}}}`)
	f.Add(`{"contentBlockIndex":0,"delta":{"text":"<thin"}}`)
	f.Fuzz(func(t *testing.T, data string) {
		fam := familyOf(novaID)
		read := func(long bool) (chunks []model.Chunk, ok bool) {
			d := decoder{family: &fam, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
			d.call(1, "c", "f")
			if !long {
				return chunks, d.delta([]byte(data))
			}
			var e struct {
				Index int                        `json:"contentBlockIndex"`
				Delta map[string]json.RawMessage `json:"delta"`
			}
			if err := read([]byte(data), &e); err != nil {
				t.Fatalf("the long way says %v", err)
			}
			if err := d.more(e.Index, e.Delta); err != nil {
				t.Fatalf("the long way says %v", err)
			}
			return chunks, true
		}
		short, ok := read(false)
		if !ok {
			return
		}
		long, _ := read(true)
		if d := cmp.Diff(long, short); d != "" {
			t.Fatalf("-long +short:\n%s", d)
		}
	})
}

// Any bytes give a stream with one end signal or an error.
func FuzzStream(f *testing.F) {
	f.Add("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"b"}}}`, "contentBlockDelta", `{"contentBlockIndex":1,"delta":{"image":{}}}`)
	f.Add("messageStop", `{"stopReason":""}`, "metadata", `{"trace":{"guardrail":{"inputAssessment":{"a":[1,{"action":"BLOCKED"}]}}}}`)
	f.Add("contentBlockDelta", `{"delta":{"toolResult":[{}],"citation":{"location":{"web":{}}}}}`, "contentBlockStop", `{}`)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if len(a) > 200 || len(c) > 200 {
			return // a header is shorter
		}
		for _, end := range []string{"", frames("messageStop", `{"stopReason":"end_turn"}`)} {
			for _, name := range []string{claude, novaID} {
				got, err := decode(name, &Guardrail{}, strings.NewReader(frames(a, b, c, d)+end))
				if (err == nil) != (got.Stops == 1) || got.Stops > 1 {
					t.Fatalf("%d end signals and %v", got.Stops, err)
				}
			}
		}
	})
}

// Any complete body gives an answer or an error.
func FuzzWhole(f *testing.F) {
	f.Add(`{"output":{"message":{"content":[{"text":"a"},{"toolUse":{"toolUseId":"a","name":"b","input":{"x":1}}},{"reasoningContent":{"redactedContent":"AQ=="}}]}},"stopReason":"tool_use"}`)
	f.Add(`{"output":{"message":{"content":[{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"t"}]}},{"image":{"format":"png","source":{"bytes":"AQ=="}}},{"audio":{}}]}},"stopReason":"end_turn"}`)
	f.Fuzz(func(t *testing.T, body string) {
		fam := familyOf(claude)
		var chunks []model.Chunk
		d := decoder{family: &fam, yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
		err := d.answer([]byte(body))
		if got := modeltest.Put(chunks, err); (err == nil) != (got.Stops == 1) || got.Stops > 1 {
			t.Fatalf("%d end signals and %v", got.Stops, err)
		}
	})
}

// Parts that are kept until their end are bounded, and so are unknown parts.
func TestWhatIsHeldIsBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	pad := strings.Repeat("A", 1<<10)
	for name, c := range map[string]struct{ begin, again []string }{
		"hidden thinking": {nil, []string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"` + pad + `"}}}`}},
		"a signature":     {nil, []string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"` + pad + `"}}}`}},
		"a picture":       {nil, []string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"image":{"format":"png","source":{"bytes":"` + pad + `"}}}}`}},
		"a server's result": {
			[]string{"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolResult":{"toolUseId":"x"}}}`},
			[]string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolResult":[{"text":"` + pad + `"}]}}`},
		},
		"nothing that is known": {nil, []string{"brandNewEvent", `{"x":"` + pad + `"}`}},
	} {
		f := familyOf("anthropic.claude-sonnet-5-5")
		held := 0
		d := decoder{family: &f, most: most, stamper: new(bound.Stamper), yield: func(model.Chunk, error) bool { return true }}
		g := idle.New(t.Context(), 0)
		defer g.End()
		body := frames(c.begin...)
		for len(body) < 4*most {
			body += frames(c.again...)
		}
		err := d.run(g, strings.NewReader(body))
		for i := range d.open {
			held += len(d.open[i].data)
		}
		if !errors.Is(err, awsframe.ErrTooLong) || held > most+len(pad) {
			t.Errorf("%s: %v, %d bytes are held", name, err, held)
		}
	}
}
