package gemini

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// An answer in which the vendor searched, ran code, thought, made an image and cited
// (docs/code-execution, docs/google-search, docs/image-generation).
const searched = `data: {"candidates": [{"content": {"parts": [{"text": "I search.","thought": true}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 100,"cachedContentTokenCount": 60,"toolUsePromptTokenCount": 7,"thoughtsTokenCount": 5},"modelVersion": "m","responseId": "r"}

data: {"candidates": [{"content": {"parts": [{"executableCode": {"language": "PYTHON","code": "print(1+2)"}},{"codeExecutionResult": {"outcome": "OUTCOME_OK","output": "3\n"}},{"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED"}}],"role": "model"},"index": 0}]}

data: {"candidates": [{"content": {"parts": [{"inlineData": {"mimeType": "image/png","data": "iVBORw=="}},{"toolCall": {"id": "s1","name": "search"},"thoughtSignature": "c2ln"}],"role": "model"},"index": 0}]}

data: {"candidates": [{"content": {"parts": [{"text": "It is \ud83d"}],"role": "model"},"index": 0,"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://e.com","title": "E"}},{"maps": {"uri": "https://maps.e.com"}}],"webSearchQueries": ["x"]}}]}

data: {"candidates": [{"content": {"parts": [{"text": " so."}],"role": "model"},"index": 0,"citationMetadata": {"citationSources": [{"startIndex": 3,"endIndex": 5,"uri": "https://c.com","license": "mit"}]}},{"content": {"parts": [{"text": "another"}]},"index": 1}]}

data: {"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "dGV4dA=="},{"text": "And more."},{"functionCall": {"name": "f","args": {"whole": 1}}},{"text": "","thoughtSignature": "bGF0ZQ=="}],"role": "model"},"finishReason": "STOP","index": 0,"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://e.com","title": "E"}}]}}],"usageMetadata": {"promptTokenCount": 100,"cachedContentTokenCount": 60,"candidatesTokenCount": 9,"toolUsePromptTokenCount": 7,"thoughtsTokenCount": 5}}

`

func TestWhatTheVendorDoesItself(t *testing.T) {
	t.Parallel()
	got, err := decode(strings.NewReader(searched))
	if err != nil {
		t.Fatal(err)
	}
	want := []event.Block{
		&event.Thinking{Text: "I search."},
		&event.Code{Language: "python", Code: "print(1+2)", Signature: own},
		&event.CodeResult{Outcome: "ok", Output: "3\n", Signature: own},
		&event.CodeResult{Outcome: "timeout", Signature: own},
		&event.Image{MIME: "image/png", Data: []byte("\x89PNG")},
		&event.UnknownBlock{
			Name: "gemini.toolCall",
			Raw:  json.RawMessage(`{"kind":"gemini.toolCall","thoughtSignature":"c2ln","toolCall":{"id":"s1","name":"search"}}`),
		},
		&event.Text{Text: "It is \uFFFD so.", Signature: "gemini.dGV4dA=="},
		&event.Citation{Title: "E", URL: "https://e.com"},
		&event.Citation{URL: "https://maps.e.com"},
		&event.Citation{URL: "https://c.com"},
		&event.Text{Text: "And more."},
		&event.ToolCall{Name: "f", Args: json.RawMessage(`{"whole":1}`)},
		&event.Text{Signature: "gemini.bGF0ZQ=="},
	}
	if d := cmp.Diff(want, got.Content); d != "" {
		t.Error(d)
	}
	if got.Usage != (event.Usage{Input: 47, CacheRead: 60, Output: 14, Reasoning: 5, Total: 121, WebSearches: 1}) {
		t.Errorf("%+v", got.Usage)
	}
	if got.Stop != event.StopToolUse || got.ID != "r" || got.Model != "m" {
		t.Errorf("stop %q, answer %s of %s", got.Stop, got.ID, got.Model)
	}
	// The log keeps the answer, and the vendor's parts are sent back unchanged.
	line, err := event.AppendMessage(nil, event.Message{Role: event.RoleAssistant, Content: got.Content})
	if err != nil {
		t.Fatal(err)
	}
	var kept event.Message
	if err := json.Unmarshal(line, &kept); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(shape(t, kept.Content))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`{"thoughtSignature":"c2ln","toolCall":{"id":"s1","name":"search"}}`, `{"text":"It is ` + "\uFFFD" + ` so.","thoughtSignature":"dGV4dA=="}`,
		`{"executableCode":{"code":"print(1+2)","language":"PYTHON"}}`, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"3\n"}}`,
		`{"codeExecutionResult":{"outcome":"OUTCOME_DEADLINE_EXCEEDED"}}`,
		`{"text":"","thoughtSignature":"bGF0ZQ=="}`, `{"inlineData":{"data":"iVBORw==","mimeType":"image/png"}}`,
	} {
		if !strings.Contains(string(back), part) {
			t.Errorf("%s does not go back:\n%s", part, back)
		}
	}
	if strings.Contains(string(back), "I search.") {
		t.Errorf("a summary of thoughts goes back:\n%s", back)
	}
}

// A signature may be in its part, after it, or between others.
func TestSignaturesStayWithTheirParts(t *testing.T) {
	t.Parallel()
	event1 := func(parts string) string {
		return `data: {"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0}]}` + "\n\n"
	}
	const end = `data: {"candidates":[{"finishReason":"STOP","index":0}]}` + "\n\n"
	for name, tc := range map[string]struct {
		body string
		want []event.Block
	}{
		"texts that are signed each": {
			event1(`{"text":"a","thoughtSignature":"MQ=="}`) + event1(`{"text":"b"}`) + event1(`{"text":"c","thoughtSignature":"Mg=="}`),
			[]event.Block{&event.Text{Text: "a", Signature: own + "MQ=="}, &event.Text{Text: "bc", Signature: own + "Mg=="}},
		},
		"parallel calls": {
			event1(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"MQ=="},{"functionCall":{"name":"g"}}`) + event1(`{"text":""}`),
			[]event.Block{&event.ToolCall{Name: "f", Signature: own + "MQ=="}, &event.ToolCall{Name: "g"}},
		},
		"a thought, then a text": {
			event1(`{"text":"hm","thought":true}`) + event1(`{"thought":true,"text":" so","thoughtSignature":"MQ=="}`) + event1(`{"text":"a"}`),
			[]event.Block{&event.Thinking{Text: "hm so", Signature: own + "MQ=="}, &event.Text{Text: "a"}},
		},
		"a thought between texts": {
			event1(`{"text":"a"}`) + event1(`{"text":"hm","thought":true},{"text":"b"}`),
			[]event.Block{&event.Text{Text: "a"}, &event.Thinking{Text: "hm"}, &event.Text{Text: "b"}},
		},
	} {
		got, err := decode(strings.NewReader(tc.body + end))
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(tc.want, got.Content); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// The finish reasons and block reasons (api/generate-content#FinishReason and #BlockReason).
func TestReasons(t *testing.T) {
	t.Parallel()
	finish := func(r string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"` + r + `"}]}` + "\n\n"
	}
	blocked := func(r string) string {
		return `data: {"promptFeedback":{"blockReason":"` + r + `"},"usageMetadata":{"promptTokenCount":3}}` + "\n\n"
	}
	for body, want := range map[string]event.StopReason{
		finish("STOP"): event.StopEndTurn, finish("MAX_TOKENS"): event.StopMaxTokens, finish("SAFETY"): event.StopContentFiltered,
		finish("RECITATION"): event.StopContentFiltered, finish("BLOCKLIST"): event.StopContentFiltered,
		finish("PROHIBITED_CONTENT"): event.StopContentFiltered, finish("SPII"): event.StopContentFiltered,
		finish("IMAGE_SAFETY"): event.StopContentFiltered, finish("MODEL_ARMOR"): event.StopGuardrail,
		finish("LANGUAGE"): "LANGUAGE", finish("OTHER"): "OTHER",
		finish("UNEXPECTED_TOOL_CALL"): "UNEXPECTED_TOOL_CALL", finish("BRAND_NEW"): "BRAND_NEW",
		// Some models repeat the finish reason in every event.
		finish("STOP") + finish("STOP"): event.StopEndTurn, finish("STOP") + finish("MAX_TOKENS"): event.StopMaxTokens,
		blocked("SAFETY"): event.StopContentFiltered, blocked("MODEL_ARMOR"): event.StopGuardrail, blocked("JAILBREAK"): event.StopContentFiltered,
	} {
		got, err := decode(strings.NewReader(body))
		if err != nil || got.Stop != want || got.Stops != 1 {
			t.Errorf("%s: stop %q, want %q; %v", body, got.Stop, want, err)
		}
		if n := strings.Count(body, "finishReason"); event.TextOf(got.Content) != strings.Repeat("a", n) {
			t.Errorf("%s: text %q", body, event.TextOf(got.Content))
		}
	}
}

// With one call at a time, the answer has only the first call, with its signature.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	const body = `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"MQ=="},` +
		`{"functionCall":{"name":"g"}}]}}]}` + "\n\n" + `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"h"}}]},"finishReason":"STOP"}]}` + "\n\n"
	for serial, want := range map[bool]int{false: 3, true: 1} {
		var chunks []model.Chunk
		s := stream{in: strings.NewReader(body), end: func() {}}
		s.serial = serial
		s.yield = func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }
		err := s.run()
		got := modeltest.Put(chunks, err)
		calls := event.CallsOf(got.Content)
		if err != nil || len(calls) != want || calls[0].Name != "f" || calls[0].Signature != own+"MQ==" || got.Stop != event.StopToolUse {
			t.Errorf("serial %t: %d calls, stop %q, %v", serial, len(calls), got.Stop, err)
		}
	}
}

// An error in the middle of a stream, in both forms that the API uses.
func TestErrorsInTheStream(t *testing.T) {
	t.Parallel()
	begun := deltas(3)
	begun = begun[:strings.LastIndex(begun, "data: ")]
	said := `{"error": {"code": 503,"message": "The model is overloaded.","status": "UNAVAILABLE"}}`
	pretty := "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n"
	for name, body := range map[string]string{
		"an event": begun + "data: " + said + "\r\n\r\n", "a line": begun + said + "\n", "a text": begun + pretty,
		"an array": begun + "[" + pretty + "]", "a text with CRLF": begun + strings.ReplaceAll(pretty, "\n", "\r\n"),
		"nothing before": pretty, "behind the end": deltas(2) + "data: " + said + "\n\n",
	} {
		got, err := decode(strings.NewReader(body))
		e := new(wireError)
		if !errors.As(err, &e) || e.Code != 503 || e.Status != "UNAVAILABLE" || got.Stops != 0 {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(body, "data") && (event.TextOf(got.Content) == "" || got.Usage.Input == 0) {
			t.Errorf("%s: what had come is lost: %+v", name, got)
		}
	}
	for name, body := range map[string]string{
		"half a text": begun + pretty[:30], "other words": begun + "Bad Gateway\n", "other JSON": begun + "{\"x\": 1}\n",
	} {
		if _, err := decode(strings.NewReader(body)); !errors.Is(err, errCut) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range map[string]string{
		"no JSON": begun + "data: {\"candidates\": \n\n", "an odd image": begun + `data: {"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"?"}}]}}]}` + "\n\n",
	} {
		if _, err := decode(strings.NewReader(body)); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The fast decoder and the general one give the same result for every event.
func FuzzEvent(f *testing.F) {
	for line := range strings.Lines(searched + deltas(3)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			f.Add(strings.TrimSpace(data))
		}
	}
	f.Add(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"\u00e9"},"id":"x"},"thoughtSignature":"MQ=="}]},"finishReason":"STOP"}]}`)
	f.Add(`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","safetyRatings":[{}]}],"createTime":"x"}`)
	f.Add(`{"candidates":[{"index":1,"content":{"parts":[{"text":"a","thought":true}]}}]}`)
	f.Fuzz(func(t *testing.T, data string) {
		var short, long []model.Chunk
		a := decoder{yield: func(c model.Chunk, _ error) bool { short = append(short, c); return true }}
		if !a.quick([]byte(data)) || otherCase(data) {
			return
		}
		a.take(&a.e)
		a.finish(a.ended())
		b := decoder{yield: func(c model.Chunk, _ error) bool { long = append(long, c); return true }}
		if err := b.whole([]byte(data)); err != nil {
			t.Fatalf("the long way says %v", err)
		}
		b.take(&b.e)
		b.finish(b.ended())
		for i := range min(len(short), len(long)) {
			// White space between arguments has no meaning.
			if short[i].Kind == model.ChunkCallInput && long[i].Kind == model.ChunkCallInput {
				short[i].Text, long[i].Text = compact(t, short[i].Text), compact(t, long[i].Text)
			}
		}
		if d := cmp.Diff(long, short); d != "" {
			t.Fatalf("-long +short:\n%s", d)
		}
	})
}

var member = regexp.MustCompile(`"([A-Za-z]+)"\s*:`)

// otherCase reports whether a known name occurs in another case or with escapes: encoding/json
// accepts those too.
func otherCase(data string) bool {
	const known = " candidates index content parts text thought thoughtSignature functionCall id name args inlineData executableCode " +
		"codeExecutionResult finishReason citationMetadata groundingMetadata usageMetadata promptTokenCount cachedContentTokenCount " +
		"candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount totalTokenCount modelVersion responseId promptFeedback error role "
	for _, m := range member.FindAllStringSubmatch(data, -1) {
		if !strings.Contains(known, " "+m[1]+" ") && strings.Contains(strings.ToLower(known), " "+strings.ToLower(m[1])+" ") {
			return true
		}
	}
	return strings.ContainsAny(data, "\\\u017f\u212a") // the long s and the Kelvin sign also fold
}

func compact(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return object(t, v)
}

// Any bytes give a stream with at most one end signal, or an error.
func FuzzStream(f *testing.F) {
	f.Add(searched)
	f.Add(deltas(3))
	f.Add("data:\n\nid: 1\ndata: {}\n\n: comment\nevent: x\r\ndata: [\r\n\r\n")
	f.Add("{\n\"error\": {\"code\": 500}\n}\n")
	f.Fuzz(func(t *testing.T, body string) {
		got, err := decode(strings.NewReader(body))
		if (err == nil) != (got.Stops == 1) || got.Stops > 1 {
			t.Fatalf("%d end signals and %v", got.Stops, err)
		}
	})
}
