package adk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/wire/adk"
)

// sample is an example of seed 5, without its comments.
type sample struct {
	name, in string
	// out is the same with what the corrections in the seed's departures say.
	out   string
	final bool
	kind  adk.Kind
}

// samples are the seed's nine. Of those whose finality the seed says otherwise, ADK's source decides (departure D23).
var samples = []sample{
	{
		"user input",
		`{"author":"user","invocation_id":"e-xyz...","content":{"parts":[{"text":"来週の火曜日のロンドン行きのフライトを予約して"}]}}`,
		`{"author":"user","invocationId":"e-xyz...","content":{"parts":[{"text":"来週の火曜日のロンドン行きのフライトを予約して"}]}}`, true, adk.KindText,
	},
	{
		"final text",
		`{"author":"TravelAgent","invocation_id":"e-xyz...","content":{"parts":[{"text":"はい、承知いたしました。出発都市を確認していただけますか？"}]},"partial":false,"turn_complete":true}`,
		`{"author":"TravelAgent","invocationId":"e-xyz...","content":{"parts":[{"text":"はい、承知いたしました。出発都市を確認していただけますか？"}]},"partial":false,"turnComplete":true}`, true, adk.KindText,
	},
	{
		"streamed text",
		`{"author":"SummaryAgent","invocation_id":"e-abc...","content":{"parts":[{"text":"この文書では、主に3つの点について議論しています："}]},"partial":true,"turn_complete":false}`,
		`{"author":"SummaryAgent","invocationId":"e-abc...","content":{"parts":[{"text":"この文書では、主に3つの点について議論しています："}]},"partial":true,"turnComplete":false}`, false, adk.KindText,
	},
	{
		"request for a tool",
		`{"author":"TravelAgent","invocation_id":"e-xyz...","content":{"parts":[{"function_call":{"name":"find_airports","args":{"city":"London"}}}]}}`,
		`{"author":"TravelAgent","invocationId":"e-xyz...","content":{"parts":[{"functionCall":{"name":"find_airports","args":{"city":"London"}}}]}}`, false, adk.KindCalls,
	},
	{
		"result of a tool",
		`{"author":"TravelAgent","invocation_id":"e-xyz...","content":{"role":"user","parts":[{"function_response":{"name":"find_airports","response":{"result":["LHR","LGW","STN"]}}}]}}`,
		`{"author":"TravelAgent","invocationId":"e-xyz...","content":{"role":"user","parts":[{"functionResponse":{"name":"find_airports","response":{"result":["LHR","LGW","STN"]}}}]}}`, false, adk.KindResults,
	},
	{
		"only state and artifacts",
		`{"author":"InternalUpdater","invocation_id":"e-def...","content":null,"actions":{"state_delta":{"user_status":"verified"},"artifact_delta":{"verification_doc.pdf":2}}}`,
		`{"author":"InternalUpdater","invocationId":"e-def...","actions":{"stateDelta":{"user_status":"verified"},"artifactDelta":{"verification_doc.pdf":2}}}`, true, adk.KindUpdate,
	},
	{
		"transfer",
		`{"author":"OrchestratorAgent","invocation_id":"e-789...","content":{"parts":[{"function_call":{"name":"transfer_to_agent","args":{"agent_name":"BillingAgent"}}}]},"actions":{"transfer_to_agent":"BillingAgent"}}`,
		`{"author":"OrchestratorAgent","invocationId":"e-789...","content":{"parts":[{"functionCall":{"name":"transfer_to_agent","args":{"agent_name":"BillingAgent"}}}]},"actions":{"transferToAgent":"BillingAgent"}}`, false, adk.KindCalls,
	},
	{
		"escalation",
		`{"author":"CheckerAgent","invocation_id":"e-loop...","content":{"parts":[{"text":"最大再試行回数に達しました。"}]},"actions":{"escalate":true}}`,
		`{"author":"CheckerAgent","invocationId":"e-loop...","content":{"parts":[{"text":"最大再試行回数に達しました。"}]},"actions":{"escalate":true}}`, true, adk.KindText,
	},
	{
		"error",
		`{"author":"LLMAgent","invocation_id":"e-err...","content":null,"error_code":"SAFETY_FILTER_TRIGGERED","error_message":"安全設定により応答がブロックされました。","actions":{}}`,
		`{"author":"LLMAgent","invocationId":"e-err...","errorCode":"SAFETY_FILTER_TRIGGERED","errorMessage":"安全設定により応答がブロックされました。","actions":{}}`, true, adk.KindControl,
	},
}

// The seed's samples are read in both styles of keys and written in camelCase.
func TestSamplesOfTheSeed(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		for _, text := range []string{s.in, s.out} {
			e, err := adk.Decode([]byte(text))
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
				continue
			}
			same(t, s.out, e.AppendJSON(nil))
			if e.Final() != s.final || adk.Describe(&e) != s.kind {
				t.Errorf("%s: final %t, %s", s.name, e.Final(), adk.Describe(&e))
			}
		}
	}
}

// Final is ADK's rule, case by case.
func TestFinal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`:                       true,
		`{"partial":true}`:         false,
		`{"content":{"parts":[]}}`: true,
		`{"content":{"parts":[{"text":"a"}]},"partial":true}`:                                            false,
		`{"content":{"parts":[{"text":"a"}]}}`:                                                           true,
		`{"content":{"parts":[{"functionCall":{"name":"f"}}]}}`:                                          false,
		`{"content":{"parts":[{"functionResponse":{"name":"f"}}]}}`:                                      false,
		`{"content":{"parts":[{"functionResponse":{"name":"f"}}]},"actions":{"skipSummarization":true}}`: true,
		`{"actions":{"skipSummarization":true},"partial":true}`:                                          true,
		`{"actions":{"skipSummarization":false},"partial":true}`:                                         false,
		`{"content":{"parts":[{"functionCall":{"id":"c","name":"f"}}]},"longRunningToolIds":["c"]}`:      true,
		`{"content":{"parts":[{"functionCall":{"name":"f"}}]},"longRunningToolIds":[]}`:                  false,
		`{"content":{"parts":[{"text":"a"},{"codeExecutionResult":{"output":"1"}}]}}`:                    false,
		`{"content":{"parts":[{"codeExecutionResult":{"output":"1"}},{"text":"a"}]}}`:                    true,
		`{"actions":{"escalate":true}}`:                                                                  true,
		`{"errorCode":"SAFETY"}`:                                                                         true,
	} {
		e, err := adk.Decode([]byte(text))
		if err != nil || e.Final() != want {
			t.Errorf("%s: final %t, %v", text, e.Final(), err)
		}
	}
}

// What an event is, where the samples have no example.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]adk.Kind{
		`{"content":{"parts":[{"text":""},{"text":"a"}]}}`:                   adk.KindText,
		`{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f"}}]}}`: adk.KindCalls,
		`{"content":{"parts":[{"codeExecutionResult":{"output":"1"}}]}}`:     adk.KindContent,
		`{"content":{"parts":[]},"actions":{"stateDelta":{"a":1}}}`:          adk.KindUpdate,
		`{"actions":{"stateDelta":{},"artifactDelta":{}}}`:                   adk.KindControl,
		`{"actions":{"escalate":true}}`:                                      adk.KindControl,
		`{}`:                                                                 adk.KindControl,
	} {
		e, err := adk.Decode([]byte(text))
		if err != nil || adk.Describe(&e) != want {
			t.Errorf("%s: %s, %v", text, adk.Describe(&e), err)
		}
	}
}

// The text of a stream is never doubled, whichever language wrote it.
func TestTexts(t *testing.T) {
	t.Parallel()
	piece := func(id, author, text string) string {
		return `{"id":"` + id + `","author":"` + author + `","partial":true,"content":{"parts":[{"text":"` + text + `"}]}}`
	}
	whole := func(id, author, text string) string {
		return `{"id":"` + id + `","author":"` + author + `","content":{"parts":[{"text":"no","thought":true},{"text":"` + text + `"}]}}`
	}
	call := `{"id":"x","author":"a","content":{"parts":[{"functionCall":{"name":"f"}}]}}`
	for name, c := range map[string]struct {
		events []string
		want   []string
	}{
		"pieces with one id":         {[]string{piece("1", "a", "He"), piece("1", "a", "llo"), whole("1", "a", "Hello!")}, []string{"He", "llo", "!"}},
		"pieces with their own ids":  {[]string{piece("1", "a", "He"), piece("2", "a", "llo"), whole("3", "a", "Hello")}, []string{"He", "llo", ""}},
		"no pieces":                  {[]string{whole("1", "a", "Hello"), whole("2", "a", "Hello")}, []string{"Hello", "Hello"}},
		"an attempt that failed":     {[]string{piece("1", "a", "Oh"), piece("2", "a", "Hi"), whole("2", "a", "Hi")}, []string{"Oh", "Hi", ""}},
		"two agents at once":         {[]string{piece("1", "a", "A"), piece("2", "b", "B"), whole("2", "b", "B."), whole("1", "a", "A!")}, []string{"A", "B", ".", "!"}},
		"a call between":             {[]string{piece("1", "a", "A"), call, whole("1", "a", "AB")}, []string{"A", "", "B"}},
		"an answer that was changed": {[]string{piece("1", "a", "bad"), whole("1", "a", "good")}, []string{"bad", "good"}},
	} {
		var texts adk.Texts
		var got []string
		for _, text := range c.events {
			e, err := adk.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, texts.Add(&e))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
