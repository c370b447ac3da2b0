package adk_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/adk"
	"github.com/braidrun/braid/wire/wiretest"
)

// at makes an event of a step of the root agent.
func at(step string, attempt int, body event.Body) *event.Event {
	return &event.Event{Header: event.Header{
		Run: "e-1", Step: step, Attempt: attempt, Author: "guide", Time: time.Date(2025, 7, 22, 13, 40, 0, 123456789, time.UTC),
	}, Body: body}
}

func says(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }

// The frames are written by hand, after the events of adk-python 2.5.
func TestFrames(t *testing.T) {
	t.Parallel()
	const (
		head    = `"invocationId":"e-1","author":"guide","timestamp":1753191600.123456,`
		nothing = `"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}`
	)
	begun := &event.StepBegun{Step: event.StepModel}
	call := &event.ToolCall{ID: "c", Name: "look", Args: json.RawMessage("{\n\"at_place\":1}")}
	other := &event.ToolCall{ID: "d", Name: "ask"}
	ended := func(call, text string) *event.StepEnded {
		return &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: call, Name: "f", Content: says(text)}}
	}
	acts := func(a string) string {
		return `"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{},` + a + `}`
	}
	for name, c := range map[string]struct {
		events []*event.Event
		want   string
	}{
		"an answer in pieces, after an attempt that failed": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.TextDelta{Text: "H"}),
				at("m1", 1, &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeLost}),
				at("m1", 2, begun), at("m1", 2, &event.ThinkingDelta{Text: "hm"}), at("m1", 2, &event.TextDelta{Text: "Hel"}),
				at("m1", 2, &event.AssistantMessage{
					Content: []event.Block{&event.Thinking{Text: "hm", Signature: "c2ln"}, &event.Text{Text: "Hello"}}, Stop: event.StopEndTurn,
					Model: "m", Usage: event.Usage{Input: 5, CacheRead: 2, Output: 4, Reasoning: 1, Total: 11},
				}),
				at("", 0, &event.RunEnded{Status: event.RunCompleted}),
			},
			`{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"text":"H"}]},` + nothing + `,"partial":true}
{"id":"e-1/m1.2",` + head + `"content":{"role":"model","parts":[{"text":"hm","thought":true}]},` + nothing + `,"partial":true}
{"id":"e-1/m1.2",` + head + `"content":{"role":"model","parts":[{"text":"Hel"}]},` + nothing + `,"partial":true}
{"id":"e-1/m1.2",` + head + `"content":{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"},{"text":"Hello"}]},` + nothing + `,"turnComplete":true,"finishReason":"STOP","modelVersion":"m","usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":11,"cachedContentTokenCount":2,"thoughtsTokenCount":1}}`,
		},
		"calls with their results in order, and what the tools changed": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.ToolInputDelta{Call: "c", Tool: "look", JSON: `{"at_`}),
				at("m1", 1, &event.ToolInputDelta{Call: "c", Tool: "look", JSON: `place":1}`}),
				at("m1", 1, &event.AssistantMessage{Content: []event.Block{call, other}, Stop: event.StopToolUse}),
				at("td", 1, &event.StepBegun{Step: event.StepTool, Call: "d"}), at("tc", 1, &event.StepBegun{Step: event.StepTool, Call: "c"}),
				at("td", 1, &event.StateChanged{
					Set:    map[string]json.RawMessage{"user:lang": json.RawMessage(`"ja"`), "run:x": json.RawMessage(`1`), "braid.y": json.RawMessage(`1`)},
					Delete: []string{"old"},
				}),
				at("td", 1, ended("d", "no")), at("tc", 1, &event.ArtifactSaved{Name: "a.txt"}),
				at("tc", 1, ended("c", "8")), at("tc", 1, &event.Transferred{To: "billing"}),
				at("m2", 1, begun),
			},
			`{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"look","willContinue":true}}]},` + nothing + `,"partial":true}
{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"look","args":{"at_place":1}}},{"functionCall":{"id":"d","name":"ask","args":{}}}]},` + nothing + `,"finishReason":"STOP"}
{"id":"e-1/m1/results",` + head + `"content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"result":"8"}}},{"functionResponse":{"id":"d","name":"f","response":{"result":"no"}}}]},"actions":{"stateDelta":{"old":null,"user:lang":"ja"},"artifactDelta":{"a.txt":0},"requestedAuthConfigs":{},"requestedToolConfirmations":{},"transferToAgent":"billing"}}`,
		},
		"a result that is the answer": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.AssistantMessage{Content: []event.Block{call}}),
				at("tc", 1, &event.StepEnded{Step: event.StepTool, EndTurn: true, Result: &event.ToolResult{
					Call: "c", Name: "look", IsError: true, Content: says("it broke"),
				}}),
				at("", 0, &event.RunEnded{Status: event.RunCompleted}),
			},
			`{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"look","args":{"at_place":1}}}]},` + nothing + `}
{"id":"e-1/m1/results",` + head + `"content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"error":"it broke"}}}]},` + acts(`"skipSummarization":true`) + `}`,
		},
		"a question, and the result that was there before": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.AssistantMessage{Content: []event.Block{call, other}}),
				at("td", 1, &event.StepBegun{Step: event.StepTool, Call: "d"}), at("td", 1, ended("d", "no")),
				at("tc", 1, &event.StepBegun{Step: event.StepTool, Call: "c"}),
				at("tc", 1, &event.Asked{Token: "q", Ask: event.AskApproval, Call: "c", Tool: "look", Prompt: "Sure?", Payload: json.RawMessage(`{"cap":1}`)}),
				nil, // the run waits
			},
			`{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"look","args":{"at_place":1}}},{"functionCall":{"id":"d","name":"ask","args":{}}}]},` + nothing + `}
{"id":"e-1/6",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"q","name":"adk_request_confirmation","args":{"originalFunctionCall":{"id":"c","name":"look","args":{"at_place":1}},"toolConfirmation":{"hint":"Sure?","confirmed":false,"payload":{"cap":1}}}}}]},` + nothing + `,"longRunningToolIds":["q"]}
{"id":"e-1/m1/results",` + head + `"content":{"role":"user","parts":[{"functionResponse":{"id":"d","name":"f","response":{"result":"no"}}}]},` + nothing + `}`,
		},
		"questions for a value, a sign-in and a result from outside": {
			[]*event.Event{
				at("tc", 1, &event.Asked{Token: "q", Ask: event.AskInput, Prompt: "Where?", Schema: json.RawMessage(`{"type":"string"}`)}),
				at("tc", 1, &event.Asked{Token: "s", Ask: event.AskCredential, Call: "c", Payload: json.RawMessage(`{"url":"https://x"}`)}),
				at("tc", 1, &event.Asked{Token: "x", Ask: event.AskExternal, Call: "c"}),
			},
			`{"id":"e-1/1",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"q","name":"adk_request_input","args":{"interruptId":"q","message":"Where?","responseSchema":{"type":"string"}}}}]},` + nothing + `,"longRunningToolIds":["q"]}
{"id":"e-1/2",` + head + `"content":{"role":"model","parts":[{"functionCall":{"id":"s","name":"adk_request_credential","args":{"functionCallId":"c","authConfig":{"url":"https://x"}}}}]},` + nothing + `,"longRunningToolIds":["s"]}
{"id":"e-1/3",` + head + nothing + `,"longRunningToolIds":["c"]}`,
		},
		"errors, and what was seen of an answer that was cut off": {
			[]*event.Event{
				at("", 0, &event.Fault{Err: &event.Error{Kind: event.ErrModel, Code: "SAFETY_FILTER_TRIGGERED", Message: "blocked"}}),
				at("m1", 1, begun), at("m1", 1, &event.TextDelta{Text: "Hel"}),
				at("", 0, &event.RunEnded{
					Status: event.RunFailed, Partial: "Hel", Err: &event.Error{Kind: event.ErrThrottled, Message: "too many", Hint: "wait"},
				}),
			},
			`{"id":"e-1/1",` + head + nothing + `,"errorCode":"SAFETY_FILTER_TRIGGERED","errorMessage":"blocked"}
{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"text":"Hel"}]},` + nothing + `,"partial":true}
{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"text":"Hel"}]},` + nothing + `,"interrupted":true}
{"id":"e-1/3",` + head + nothing + `,"errorCode":"RESOURCE_EXHAUSTED","errorMessage":"too many: wait"}`,
		},
		"changes and signals without a tool": {
			[]*event.Event{
				at("", 0, &event.StateChanged{Set: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}),
				at("", 0, &event.StateChanged{Set: map[string]json.RawMessage{"temp:a": json.RawMessage(`1`)}}),
				at("", 0, &event.Escalated{}),
			},
			`{"id":"e-1/1",` + head + `"actions":{"stateDelta":{"a":1},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}
{"id":"e-1/3",` + head + acts(`"escalate":true`) + `}`,
		},
		"code, citations and files": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.AssistantMessage{Content: []event.Block{
					&event.Code{Language: "python", Code: "1"}, &event.CodeResult{Outcome: "timeout"}, &event.Citation{URL: "https://x"},
					&event.Document{MIME: "application/pdf", Data: []byte{0xff, 0xef}}, &event.Image{URL: "gs://i", MIME: "image/png"},
				}}),
			},
			`{"id":"e-1/m1",` + head + `"content":{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_DEADLINE_EXCEEDED"}},{"inlineData":{"mimeType":"application/pdf","data":"/+8="}},{"fileData":{"mimeType":"image/png","fileUri":"gs://i"}}]},` + nothing + `,"turnComplete":true}`,
		},
	} {
		enc := &adk.Encoder{Run: "e-1", Streaming: true}
		feed := wiretest.Feed(enc, "e-1")
		var seq, n int64
		var out []byte
		for _, e := range c.events {
			switch {
			case e == nil:
				out = enc.AppendInterrupted(out, nil)
				continue
			case e.Live():
				n++
				e.Epoch, e.N = 1, n
			default:
				seq++
				e.Seq = seq
			}
			out = feed.Append(out, e)
		}
		if diff := cmp.Diff(c.want, data(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// data takes the data out of frames, a line each.
func data(text []byte) string {
	var lines []string
	for f := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		_, f, _ = strings.Cut("\n"+f, "\ndata: ")
		lines = append(lines, f)
	}
	return strings.Join(lines, "\n")
}

// A sub-agent that works for a call is not shown, but what it asks and what its tools change is.
func TestAgentsThatWorkForACall(t *testing.T) {
	t.Parallel()
	enc := &adk.Encoder{Run: "e-1", Streaming: true}
	feed := wiretest.Feed(enc, "e-1")
	in := func(e *event.Event) *event.Event {
		e.Scope, e.Author = "tc", "helper"
		return e
	}
	begun := &event.StepBegun{Step: event.StepModel}
	var out []byte
	for i, e := range []*event.Event{
		at("m1", 1, begun), at("m1", 1, &event.AssistantMessage{Content: []event.Block{&event.ToolCall{ID: "c", Name: "helper"}}}),
		at("tc", 1, &event.StepBegun{Step: event.StepTool, Call: "c", Tool: "helper"}),
		in(at("", 0, &event.ScopeOpened{ID: "tc", Call: "c", Agent: "helper", Depth: 1})),
		in(at("tc/m1", 1, begun)), in(at("tc/m1", 1, &event.AssistantMessage{Content: []event.Block{&event.ToolCall{ID: "x", Name: "f"}}})),
		in(at("tc/tx", 1, &event.StepBegun{Step: event.StepTool, Call: "x"})),
		in(at("tc/tx", 1, &event.Asked{Token: "q", Ask: event.AskInput})),
		in(at("tc/tx", 1, &event.StateChanged{Set: map[string]json.RawMessage{"a": json.RawMessage("1")}})),
		in(at("tc/tx", 1, &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: "x", Content: says("inside")}})),
		in(at("", 0, &event.ScopeClosed{ID: "tc"})),
		at("tc", 1, &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: "c", Name: "helper", Content: says("done")}}),
		at("", 0, &event.RunEnded{Status: event.RunCompleted}),
	} {
		e.Seq = int64(i) + 1
		out = feed.Append(out, e)
	}
	events, _ := frames(t, out)
	var told []string
	for _, e := range events {
		told = append(told, e.Author+" "+string(adk.Describe(&e)))
	}
	if diff := cmp.Diff([]string{"guide tool_calls", "guide tool_calls", "guide tool_results"}, told); diff != "" {
		t.Error(diff)
	}
	if last := events[len(events)-1]; len(events[1].LongRunning) != 1 || string(last.Actions.StateDelta["a"]) != "1" {
		t.Errorf("%s\n%s", events[1].AppendJSON(nil), last.AppendJSON(nil))
	}
}

// A reader that was too slow gets what it lacks; one whose text is not known gets the whole answer at its end.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	begun := at("m1", 1, &event.StepBegun{Step: event.StepModel})
	begun.Seq = 1
	piece := at("m1", 1, &event.TextDelta{Text: "Hel"})
	piece.Epoch, piece.N = 1, 1
	snapshot := func(text string) *event.Snapshot {
		s := &event.Snapshot{Header: begun.Header, Kind: event.StepModel, Blocks: []event.SnapshotBlock{{Kind: event.BlockText, Text: text}}}
		s.Epoch, s.N = 1, 5
		return s
	}
	for name, c := range map[string]struct {
		skip bool
		text string
		want string
	}{
		"a slow reader":            {false, "Hello", "Hel|lo|, Ann."},
		"a reader that comes back": {true, "Hello", "Hello, Ann."},
		"a text that was replaced": {false, "Good", "Hel|Good"},
	} {
		enc := &adk.Encoder{Run: "e-1", Streaming: true}
		feed := wiretest.Feed(enc, "e-1")
		var out []byte
		if c.skip {
			feed.Skip(begun)
		} else {
			out = feed.Append(feed.Append(nil, begun), piece)
		}
		out = feed.AppendSnapshot(out, snapshot(c.text))
		end := c.text + ", Ann."
		if name == "a text that was replaced" {
			end = c.text
		}
		whole := at("m1", 1, &event.AssistantMessage{Content: says(end)})
		whole.Seq = 2
		out = feed.Append(out, whole)
		events, _ := frames(t, out)
		var texts adk.Texts
		var got []string
		for i := range events {
			if text := texts.Add(&events[i]); text != "" {
				got = append(got, text)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
