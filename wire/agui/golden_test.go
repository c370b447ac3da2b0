package agui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agui"
	"github.com/braidrun/braid/wire/wiretest"
)

// at makes an event of a step.
func at(step string, attempt int, body event.Body) *event.Event {
	return &event.Event{Header: event.Header{Run: "r", Step: step, Attempt: attempt}, Body: body}
}

func says(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }

// The frames are written by hand, after the types of @ag-ui/core 1.0.0; test/peers/agui has the client check others.
func TestFrames(t *testing.T) {
	t.Parallel()
	begun := &event.StepBegun{Step: event.StepModel}
	call := &event.ToolCall{ID: "c", Name: "look", Args: json.RawMessage(`{"at":1}`)}
	for name, c := range map[string]struct {
		events []*event.Event
		want   string
	}{
		"text, and the rest of it that was not streamed": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.TextDelta{Text: "He"}), at("m1", 1, &event.AssistantMessage{Content: says("Hello")}),
				at("", 0, &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn}),
			},
			`{"type":"TEXT_MESSAGE_START","messageId":"r/m1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"r/m1","delta":"He"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"r/m1","delta":"llo"}
{"type":"TEXT_MESSAGE_END","messageId":"r/m1"}
{"type":"RUN_FINISHED","threadId":"t","runId":"mine","outcome":{"type":"success"},"metadata":{"stop":"end_turn"}}`,
		},
		"a call and its result": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.ToolInputDelta{Call: "c", Tool: "look", JSON: `{"at"`}),
				at("m1", 1, &event.AssistantMessage{Content: []event.Block{call}}),
				at("tc", 1, &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: "c", Content: says("8"), IsError: true}}),
			},
			`{"type":"TOOL_CALL_START","toolCallId":"r/m1/c","toolCallName":"look","parentMessageId":"r/m1"}
{"type":"TOOL_CALL_ARGS","toolCallId":"r/m1/c","delta":"{\"at\""}
{"type":"TOOL_CALL_ARGS","toolCallId":"r/m1/c","delta":":1}"}
{"type":"TOOL_CALL_END","toolCallId":"r/m1/c"}
{"type":"TOOL_CALL_RESULT","messageId":"r/m1/c/result","role":"tool","toolCallId":"r/m1/c","content":"8","metadata":{"isError":true}}`,
		},
		"an attempt that failed is taken back": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.TextDelta{Text: "He"}),
				at("m1", 1, &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed}),
				at("m1", 2, begun), at("m1", 2, &event.TextDelta{Text: "Hi"}),
			},
			`{"type":"TEXT_MESSAGE_START","messageId":"r/m1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"r/m1","delta":"He"}
{"type":"TEXT_MESSAGE_END","messageId":"r/m1"}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"}]}
{"type":"TEXT_MESSAGE_START","messageId":"r/m1.2","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"r/m1.2","delta":"Hi"}`,
		},
		"an answer that is not as it was streamed": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.TextDelta{Text: "key 1234"}), at("m1", 1, &event.AssistantMessage{Content: says("key [hidden]")}),
			},
			`{"type":"TEXT_MESSAGE_START","messageId":"r/m1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"r/m1","delta":"key 1234"}
{"type":"TEXT_MESSAGE_END","messageId":"r/m1"}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"},{"id":"r/m1","role":"assistant","content":"key [hidden]"}]}`,
		},
		"state": {
			[]*event.Event{at("", 0, &event.StateChanged{
				Set:    map[string]json.RawMessage{"a/~": json.RawMessage(`null`), "user:x": json.RawMessage(`1`), "app:x": json.RawMessage(`1`)},
				Delete: []string{"old", "unknown"},
			})},
			`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a~1~0","value":null},{"op":"remove","path":"/old"}]}`,
		},
		"a run that was cancelled while it spoke": {
			[]*event.Event{
				at("m1", 1, begun), at("m1", 1, &event.ThinkingDelta{Text: "So"}),
				at("", 0, &event.RunEnded{Status: event.RunCancelled, Stop: event.StopCancelled, Why: event.WhyCancelled}),
			},
			`{"type":"REASONING_START","messageId":"r/m1/thinking"}
{"type":"REASONING_MESSAGE_START","messageId":"r/m1/thinking","role":"reasoning"}
{"type":"REASONING_MESSAGE_CONTENT","messageId":"r/m1/thinking","delta":"So"}
{"type":"REASONING_MESSAGE_END","messageId":"r/m1/thinking"}
{"type":"REASONING_END","messageId":"r/m1/thinking"}
{"type":"RUN_FINISHED","threadId":"t","runId":"mine","outcome":{"type":"cancelled"},"metadata":{"stop":"cancelled"}}`,
		},
	} {
		enc := &agui.Encoder{
			Run: "r", Thread: "t", ID: "mine", State: json.RawMessage(`{"old": 1}`),
			Messages: []json.RawMessage{json.RawMessage(`{"id": "u", "role": "user", "content": "x"}`)},
		}
		var got []byte
		f := wiretest.Feed(enc, "r")
		for _, e := range c.events {
			got = f.Append(got, e)
		}
		want := "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"mine\",\"protocolVersion\":\"1.0\"}\n\n"
		for line := range strings.Lines(c.want) {
			want += "data: " + strings.TrimSuffix(line, "\n") + "\n\n"
		}
		if diff := compare(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Models repeat the ids of calls, also two agents that work at the same time.
func TestCallsOfTwoAgentsHaveTheSameID(t *testing.T) {
	t.Parallel()
	enc := &agui.Encoder{Run: "r", Thread: "t"}
	f := wiretest.Feed(enc, "r")
	in := func(scope, step string, body event.Body) *event.Event {
		return &event.Event{Header: event.Header{Run: "r", Scope: scope, Step: step, Attempt: 1}, Body: body}
	}
	var got []byte
	for _, scope := range []string{"a", "b"} {
		got = f.Append(got, in(scope, "", &event.ScopeOpened{ID: scope, Agent: "helper"}))
		got = f.Append(got, in(scope, scope+"/m1", &event.StepBegun{Step: event.StepModel}))
		got = f.Append(got, in(scope, scope+"/m1", &event.AssistantMessage{Content: []event.Block{&event.ToolCall{ID: "c", Name: "look"}}}))
	}
	result := f.Append(nil, in("a", "a/tc", &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: "c", Content: says("8")}}))
	if want := `"toolCallId":"r/a/m1/c","content":"8"`; !strings.Contains(string(result), want) {
		t.Errorf("after\n%s\nthe result is\n%s\nwithout %s", got, result, want)
	}
	asked := event.Question{Asked: event.Asked{Token: "q", Ask: event.AskApproval, Call: "c"}, Scope: "a"}
	end := enc.AppendInterrupted(nil, []event.Question{asked})
	if want := `"toolCallId":"r/a/m1/c","subagentRunId":"r/a"`; !strings.Contains(string(end), want) {
		t.Errorf("the interrupt is\n%s\nwithout %s", end, want)
	}
}

// compare compares frames by what they say: the order of members is nobody's business.
func compare(want, got string) string {
	parse := func(text string) (list []any) {
		for f := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
			var v any
			if err := json.Unmarshal([]byte(strings.TrimPrefix(f, "data: ")), &v); err != nil {
				v = err.Error() + f
			}
			list = append(list, v)
		}
		return list
	}
	return cmp.Diff(parse(want), parse(got))
}
