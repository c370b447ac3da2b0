package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// A redacted event keeps what others refer to, and says nothing of what it said.
func TestCover(t *testing.T) {
	t.Parallel()
	const secret = "do-not-show-this"
	said := []event.Block{&event.Text{Text: secret}}
	for _, c := range []struct {
		body event.Body
		want string
	}{
		{&event.UserMessage{Content: said, Mail: "m1"}, `{"content":[{"kind":"text","text":"[no]"}],"mail":"m1"}`},
		{
			&event.AssistantMessage{Content: []event.Block{said[0], &event.ToolCall{ID: "c1", Name: "add", Args: []byte(`"` + secret + `"`)}}, Stop: "tool_use"},
			`{"content":[{"kind":"text","text":"[no]"},{"kind":"tool_call","id":"c1","name":"add","args":{}}],"stop":"tool_use"}`,
		},
		{
			&event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: "c1", Content: said, Structured: []byte(`"` + secret + `"`)}},
			`{"step_kind":"tool","outcome":"done","result":{"kind":"tool_result","call":"c1","content":[{"kind":"text","text":"[no]"}]}}`,
		},
		{&event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed}, `{"step_kind":"model","outcome":"failed"}`},
		{&event.ScopeOpened{ID: "t1", Agent: "a", Input: said}, `{"id":"t1","agent":"a","input":[{"kind":"text","text":"[no]"}]}`},
		{&event.ScopeClosed{ID: "t1", Output: said}, `{"id":"t1","output":[{"kind":"text","text":"[no]"}]}`},
		{&event.Answered{Token: "k", Value: []byte(`"` + secret + `"`)}, `{"token":"k","value":null}`},
		{&event.Asked{Token: "k", Ask: event.AskInput, Prompt: secret, Args: []byte(`"` + secret + `"`)}, `{"token":"k","ask":"input","prompt":"[no]"}`},
		{&event.StateChanged{Set: map[string]json.RawMessage{"k": []byte(`"` + secret + `"`)}}, `{"set":{"k":null}}`},
		{&event.RunEnded{Status: event.RunCompleted, Output: []byte(`"` + secret + `"`)}, `{"status":"completed"}`},
		{&event.Notice{Code: "n", Text: secret, Data: []byte(`"` + secret + `"`)}, `{"code":"n","text":"[no]"}`},
		{
			&event.Setup{Base: true, Head: 3, Text: secret, Tools: []event.SetupTool{{Name: "add", Description: secret, Schema: secret}}},
			`{"hidden":true}`,
		},
		{&event.StepBegun{Step: event.StepModel, Model: "m"}, `{"step_kind":"model","model":"m"}`},
		{&event.StepBegun{Step: event.StepTool, Call: "c1", Args: []byte(`"` + secret + `"`)}, `{"step_kind":"tool","call":"c1"}`},
	} {
		e := &event.Event{Header: event.Header{Seq: 3, Run: "r"}, Body: c.body}
		before, err := event.AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*event.Redacted{{Target: 3, Replacement: []event.Block{&event.Text{Text: "[no]"}}}, {Target: 3}} {
			got, err := event.AppendJSON(nil, r.Cover(e))
			want := c.want
			if r.Replacement == nil {
				want = strings.ReplaceAll(want, "[no]", "[redacted]")
			}
			if err != nil || !strings.HasSuffix(string(got), `"body":`+want+"}") {
				t.Errorf("%s becomes %s (%v), want %s", c.body.Kind(), got, err, want)
			}
		}
		if after, err := event.AppendJSON(nil, e); err != nil || string(after) != string(before) {
			t.Errorf("the event itself has become %s (%v)", after, err)
		}
	}
}
