package adk_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/adk"
)

// field is a field of ADK's event, or an action: what Braid does with it, and JSON that has it.
type field struct {
	name string
	// what is "produced", "kept" or "refused".
	what string
	json string
}

// fields are all of adk-python 2.5, adk-go 2.2 and adk-java 1.8.
var fields = []field{
	{"id", "produced", `{"id":"r/m1"}`},
	{"invocationId", "produced", `{"invocationId":"e-1"}`},
	{"author", "produced", `{"author":"user"}`},
	{"timestamp", "produced", `{"timestamp":1753189200.123456}`},
	{"branch", "produced", `{"branch":"fan.left"}`},
	{"isolationScope", "kept", `{"isolationScope":"call-1"}`},
	{"content", "produced", `{"content":{"role":"model","parts":[{"text":"hi"}]}}`},
	{"actions", "produced", `{"actions":{"stateDelta":{},"artifactDelta":{}}}`},
	{"longRunningToolIds", "produced", `{"longRunningToolIds":["a"]}`},
	{"partial", "produced", `{"partial":false}`},
	{"turnComplete", "produced", `{"turnComplete":true}`},
	{"interrupted", "produced", `{"interrupted":true}`},
	{"turnCompleteReason", "kept", `{"turnCompleteReason":"MALFORMED_FUNCTION_CALL"}`},
	{"finishReason", "produced", `{"finishReason":"STOP"}`},
	{"errorCode", "produced", `{"errorCode":"SAFETY"}`},
	{"errorMessage", "produced", `{"errorMessage":"no"}`},
	{"usageMetadata", "produced", `{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10,"cachedContentTokenCount":2,"thoughtsTokenCount":1,"trafficType":"ON_DEMAND"}}`},
	{"groundingMetadata", "kept", `{"groundingMetadata":{"webSearchQueries":["a_b"]}}`},
	{"citationMetadata", "kept", `{"citationMetadata":{"citations":[]}}`},
	{"customMetadata", "kept", `{"customMetadata":{"my_key":{"other_key":1}}}`},
	{"modelVersion", "produced", `{"modelVersion":"gemini-2.5-pro"}`},
	{"avgLogprobs", "kept", `{"avgLogprobs":-0.25}`},
	{"logprobsResult", "kept", `{"logprobsResult":{"topCandidates":[]}}`},
	{"inputTranscription", "kept", `{"inputTranscription":{"text":"a","finished":true}}`},
	{"outputTranscription", "kept", `{"outputTranscription":{"text":"a","finished":false}}`},
	{"cacheMetadata", "kept", `{"cacheMetadata":{"cacheName":"c"}}`},
	{"interactionId", "kept", `{"interactionId":"i"}`},
	{"environmentId", "kept", `{"environmentId":"i"}`},
	{"liveSessionResumptionUpdate", "kept", `{"liveSessionResumptionUpdate":{"newHandle":"h"}}`},
	{"liveSessionId", "kept", `{"liveSessionId":"l"}`},
	{"goAway", "kept", `{"goAway":{"timeLeft":"1s"}}`},
	{"voiceActivity", "kept", `{"voiceActivity":{"voiceActivityType":"START"}}`},
	{"sessionResumptionHandle", "kept", `{"sessionResumptionHandle":"h"}`},
	{"output", "kept", `{"output":[1,{"snake_key":null}]}`},
	{"nodeInfo", "kept", `{"nodeInfo":{"path":"wf@1/node@2","outputFor":["a"],"messageAsOutput":true}}`},
	{"routes", "kept", `{"routes":["a"]}`},
	{"requestedInput", "kept", `{"requestedInput":{"interruptId":"i","message":"m","responseSchema":{"my_key":1},"payload":{"my_key":1}}}`},
	{"anything else", "refused", `{"someNewField":1}`},
}

var actions = []field{
	{"stateDelta", "produced", `{"stateDelta":{"user:lang":"ja","my_key":null}}`},
	{"artifactDelta", "produced", `{"artifactDelta":{"my_file.pdf":0}}`},
	{"deletedArtifactIds", "kept", `{"deletedArtifactIds":["a"]}`},
	{"skipSummarization", "produced", `{"skipSummarization":true}`},
	{"transferToAgent", "produced", `{"transferToAgent":"other"}`},
	{"escalate", "produced", `{"escalate":false}`},
	{"requestedAuthConfigs", "kept", `{"requestedAuthConfigs":{"my_call":{"authScheme":{"type":"oauth2"}}}}`},
	{"requestedToolConfirmations", "kept", `{"requestedToolConfirmations":{"my_call":{"hint":"h","confirmed":false,"payload":{"my_key":1}}}}`},
	{"compaction", "kept", `{"compaction":{"startTimestamp":1.5,"endTimestamp":2.5,"compactedContent":{"role":"model","parts":[{"text":"s"}]}}}`},
	{"endOfAgent", "kept", `{"endOfAgent":true}`},
	{"endInvocation", "kept", `{"endInvocation":true}`},
	{"agentState", "kept", `{"agentState":{"current_sub_agent":"a"}}`},
	{"rewindBeforeInvocationId", "kept", `{"rewindBeforeInvocationId":"e-1"}`},
	{"route", "kept", `{"route":["a",1,true]}`},
	{"renderUiWidgets", "kept", `{"renderUiWidgets":[{"id":"w","provider":"mcp","payload":{"my_key":1}}]}`},
	{"setModelResponse", "kept", `{"setModelResponse":{"my_key":1}}`},
	{"anything else", "refused", `{"someNewAction":1}`},
}

// Every field comes back as it was, in both styles of keys; a wrong type is refused, and null is absent.
func TestFields(t *testing.T) {
	t.Parallel()
	check := func(f field, wrap func(string) string) {
		text := wrap(f.json)
		e, err := adk.Decode([]byte(text))
		if f.what == "refused" {
			if got := string(e.AppendJSON(nil)); err == nil && got != wrap(`{}`) {
				t.Errorf("%s is written as %s", text, got)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		same(t, text, e.AppendJSON(nil))
		snake := wrap(strings.Replace(f.json, `"`+f.name+`"`, `"`+snakeOf(f.name)+`"`, 1))
		e, err = adk.Decode([]byte(snake))
		if err != nil {
			t.Errorf("%s: %v", snake, err)
			return
		}
		same(t, text, e.AppendJSON(nil))
		e, err = adk.Decode([]byte(wrap(`{"` + f.name + `":null}`)))
		if got := string(e.AppendJSON(nil)); err != nil || got != wrap(`{}`) {
			t.Errorf("%s as null is %s, %v", f.name, got, err)
		}
		if f.name == "output" || f.name == "route" || f.name == "setModelResponse" {
			return // any type
		}
		for _, wrong := range []string{`{"` + f.name + `":[[]]}`, `{"` + f.name + `":-1}`, `{"` + f.name + `":"x"}`} {
			if _, err = adk.Decode([]byte(wrap(wrong))); errors.Is(err, event.ErrInvalid) {
				return
			}
		}
		t.Errorf("%s may have any type", f.name)
	}
	for _, f := range fields {
		check(f, func(s string) string { return s })
	}
	for _, f := range actions {
		check(f, func(s string) string { return `{"actions":` + s + `}` })
	}
}

// The table of the guide has what the tests say.
func TestTheGuideListsTheFields(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guide/adk.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range append(append([]field{}, fields...), actions...) {
		if f.name != "anything else" {
			want = append(want, f.name+" "+f.what)
		}
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (produced|kept)").FindAllStringSubmatch(string(guide), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the guide says otherwise (-here +guide):\n%s", diff)
	}
}

// same compares JSON by its values.
func same(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(want, err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s is written as %s\n%s", want, got, diff)
	}
}

func snakeOf(name string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(s string) string { return "_" + strings.ToLower(s) })
}

// Parts come back as they were, with everything that Gemini's have.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		`{"text":""}`, `{"text":"hi","thought":true,"thoughtSignature":"c2ln"}`,
		`{"functionCall":{"id":"c","name":"f","args":{"snake_key":{"b":null}},"willContinue":true,"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}]}}`,
		`{"functionCall":{"name":"f"}}`, `{"functionResponse":{"id":"c","name":"f","response":{"snake_key":1},"scheduling":"SILENT"}}`,
		`{"inlineData":{"mimeType":"image/png","data":"iVBORw==","displayName":"a"}}`, `{"inlineData":{"mimeType":"image/png","data":"-_8"}}`,
		`{"fileData":{"mimeType":"video/mp4","fileUri":"gs://b/v"},"videoMetadata":{"startOffset":"1s"}}`,
		`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`,
	} {
		text := `{"content":{"role":"model","parts":[` + part + `]}}`
		e, err := adk.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		same(t, text, e.AppendJSON(nil))
	}
	for _, content := range []string{`{"parts":[]}`, `{"role":"user"}`, `{}`} {
		text := `{"content":` + content + `}`
		e, err := adk.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		same(t, text, e.AppendJSON(nil))
	}
}

// An event of each language comes back as it was.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"adk-python": `{"modelVersion":"gemini-2.5-flash","content":{"parts":[{"functionCall":{"id":"adk-0b3c","args":{"city":"東京"},"name":"get_weather"}}],"role":"model"},"finishReason":"STOP","usageMetadata":{"candidatesTokenCount":7,"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":7}],"promptTokenCount":98,"totalTokenCount":105},"avgLogprobs":-0.018,"invocationId":"e-8f1d","author":"weather","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"nodeInfo":{"path":""},"id":"d9b1","timestamp":1753189200.1234567}`,
		"adk-go":     `{"id":"1","timestamp":"2026-08-21T10:00:00.5Z","invocationId":"e-1","branch":"","author":"root","partial":true,"content":{"parts":[{"text":"hi"}],"role":"model"},"actions":{"stateDelta":{},"artifactDelta":{"a.txt":1}},"errorCode":"","groundingMetadata":null,"usageMetadata":null}`,
		"adk-java":   `{"id":"9","invocationId":"e-1","author":"root","content":{"parts":[{"text":"hi"}],"role":"model"},"actions":{"stateDelta":{"a":1},"artifactDelta":{"a.png":{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}},"deletedArtifactIds":[],"requestedAuthConfigs":{},"requestedToolConfirmations":{},"compaction":{"startTimestamp":1753189200123,"endTimestamp":1753189200999,"compactedContent":{"parts":[{"text":"s"}]}}},"customMetadata":[{"key":"k","stringValue":"v"}],"turnComplete":true,"timestamp":1753189200123}`,
	} {
		e, err := adk.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := strings.NewReplacer(`"branch":"",`, "", `,"errorCode":"","groundingMetadata":null,"usageMetadata":null`, "").Replace(text)
		same(t, want, e.AppendJSON(nil))
		if e.Time.Year() < 2025 || e.Time.Year() > 2026 {
			t.Errorf("%s: the time is %v", name, e.Time)
		}
	}
	e, err := adk.Decode([]byte(`{"timestamp":1753189200123}`))
	if err != nil {
		t.Fatal(err)
	}
	e.Clock = adk.Seconds
	if got := string(e.AppendJSON(nil)); got != `{"timestamp":1753189200.123}` {
		t.Errorf("milliseconds as seconds: %s", got)
	}
}

// What is no event is refused with a reason.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"timestamp":-1}`:                                    "implausible",
		`{"timestamp":1e300}`:                                 "implausible",
		`{"timestamp":99999999999999999}`:                     "implausible",
		`{"timestamp":"yesterday"}`:                           "implausible",
		`{"invocationId":"a","invocation_id":"b"}`:            "both styles",
		`{"invocation_id":"b","invocationId":"a"}`:            "both styles",
		`{"id":"a","id":"b"}`:                                 "duplicate key",
		`{"actions":{"artifactDelta":{"a":-1}}}`:              "below 0",
		`{"actions":{"artifactDelta":{"a":1.5}}}`:             "integer",
		`{"actions":{"someAction":1}}`:                        "someAction",
		`{"actions":[]}`:                                      "object",
		`{"content":{"parts":{"text":"x"}}}`:                  "array",
		`{"content":{"parts":[{"functionCall":{"args":1}}]}}`: "object",
		`{"content":{"parts":[{"unheard":1}]}}`:               "unheard",
		`{"output":` + strings.Repeat("[", 100_000):           "deep",
		`{`:                 "ends before",
		`[]`:                "object",
		`{} {}`:             "trailing",
		"{\"id\":\"\xff\"}": "UTF-8",
	} {
		_, err := adk.Decode([]byte(text))
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	if _, err := adk.DecodeList([]byte(`[{},{},{}]`), 2); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("too many events: %v", err)
	}
}
