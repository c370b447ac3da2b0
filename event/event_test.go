package event_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
)

func TestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		header event.Header
		want   string
	}{
		{event.Header{Run: "r1", Seq: 7}, "r1/7"},
		{event.Header{Run: "r1", Epoch: 2, N: 31}, "r1/2.31"},
		{event.Header{Run: "r1", Seq: 7, Epoch: 2, N: 31}, "r1/7"},
		{event.Header{}, "/0.0"},
		{event.Header{Run: "a/b", Seq: 1<<63 - 1}, "a/b/9223372036854775807"},
	}
	for _, tt := range tests {
		e := event.Event{Header: tt.header}
		if got := e.ID(); got != tt.want {
			t.Errorf("ID of %+v = %q, want %q", tt.header, got, tt.want)
		}
	}
}

// The rule of ADK's is_final_response with its consequences, as read in its
// source: a result that is not to be summed up and whatever waits for the
// outside are final; else an event without calls, results and deltas that
// does not end with a code result.
func TestFinal(t *testing.T) {
	t.Parallel()
	text := &event.Text{Text: "8"}
	call := &event.ToolCall{ID: "c", Name: "add"}
	result := &event.ToolResult{Call: "c"}
	code, ran := &event.Code{Code: "1+1"}, &event.CodeResult{Outcome: "ok", Output: "2"}
	tests := []struct {
		name string
		body event.Body
		want bool
	}{
		{"text", &event.AssistantMessage{Content: []event.Block{text}}, true},
		{"thinking and text", &event.AssistantMessage{Content: []event.Block{&event.Thinking{Text: "hm"}, text}}, true},
		{"no content", &event.AssistantMessage{}, true},
		{"a call", &event.AssistantMessage{Content: []event.Block{call}}, false},
		{"text and a call", &event.AssistantMessage{Content: []event.Block{text, call}}, false},
		{"a call and text", &event.AssistantMessage{Content: []event.Block{call, text}}, false},
		{"a long-running call", &event.AssistantMessage{Content: []event.Block{call}, LongRunning: []string{"c"}}, true},
		{"code", &event.AssistantMessage{Content: []event.Block{text, code}}, true},
		{"code result last", &event.AssistantMessage{Content: []event.Block{code, ran}}, false},
		{"code result, then text", &event.AssistantMessage{Content: []event.Block{code, ran, text}}, true},
		{"an answer cut off by its filter", &event.AssistantMessage{Stop: event.StopContentFiltered}, true},
		{"user text", &event.UserMessage{Content: []event.Block{text}}, true},
		{"user result", &event.UserMessage{Content: []event.Block{result}}, false},
		{"a tool's result", &event.StepEnded{Step: event.StepTool, Result: result}, false},
		{"a tool's result that is not summed up", &event.StepEnded{Step: event.StepTool, Result: result, EndTurn: true}, true},
		{"skip summarization without a result", &event.StepEnded{Step: event.StepTool, EndTurn: true}, true},
		{"a question", &event.Asked{Ask: event.AskApproval}, true},
		{"state only", &event.StateChanged{Set: nil}, true},
		{"artifact only", &event.ArtifactSaved{Name: "a"}, true},
		{"escalation", &event.Escalated{}, true},
		{"an error without content", &event.Fault{Err: &event.Error{Kind: event.ErrModel}}, true},
		{"compaction", &event.Compacted{}, true},
		{"text delta", &event.TextDelta{Text: "8"}, false},
		{"thinking delta", &event.ThinkingDelta{Text: "8"}, false},
		{"tool input delta", &event.ToolInputDelta{}, false},
		{"tool progress", &event.ToolProgress{}, false},
		{"answer replaced", &event.AnswerReplaced{Text: "[no]"}, false},
		{"run started", &event.RunStarted{}, false},
		{"run ended", &event.RunEnded{Status: event.RunCompleted}, false},
		{"step begun", &event.StepBegun{Step: event.StepModel}, false},
		{"a failed model call", &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed}, false},
		{"scope opened", &event.ScopeOpened{}, false},
		{"scope closed", &event.ScopeClosed{}, false},
		{"transfer", &event.Transferred{To: "b"}, false},
		{"decision", &event.Decided{Name: "more"}, false},
		{"answer", &event.Answered{}, false},
		{"notice", &event.Notice{}, false},
		{"redaction", &event.Redacted{}, false},
		{"setup", &event.Setup{Text: "Be brief."}, false},
		{"unknown", &event.Unknown{Name: "x"}, false},
		{"nothing", nil, false},
	}
	seen := map[event.Kind]bool{}
	for _, tt := range tests {
		e := event.Event{Body: tt.body}
		if got := e.Final(); got != tt.want {
			t.Errorf("%s: Final() = %v, want %v", tt.name, got, tt.want)
		}
		if tt.body != nil {
			seen[tt.body.Kind()] = true
		}
	}
	for _, b := range eventtest.Bodies() {
		if !seen[b.Kind()] {
			t.Errorf("the table says nothing about %s", b.Kind())
		}
	}
}

func TestSees(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reader, author string
		want           bool
	}{
		{"", "", true},
		{"", "a", true},
		{"a", "", true},
		{"a", "a", true},
		{"a.b", "a", true},
		{"a.b.c", "a", true},
		{"a.b.c", "a.b", true},
		{"a", "a.b", false},   // a parent does not see its child's branch
		{"a.b", "a.c", false}, // nor a sibling
		{"a.b.c", "a.c", false},
		{"agent_00", "agent_0", false}, // segments, not prefixes
		{"agent_0.x", "agent_0", true},
		{"agent_00.x", "agent_0", false},
		{"agent_0", "agent_00", false},
		{"b", "a", false},
	}
	for _, tt := range tests {
		if got := event.Sees(tt.reader, tt.author); got != tt.want {
			t.Errorf("Sees(%q, %q) = %v, want %v", tt.reader, tt.author, got, tt.want)
		}
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	live := map[event.Kind]bool{
		event.KindTextDelta: true, event.KindThinkingDelta: true, event.KindToolInputDelta: true, event.KindToolProgress: true,
		event.KindAnswerReplaced: true,
	}
	for _, b := range append(eventtest.Bodies(), &event.Unknown{Name: "x"}) {
		e := event.Event{Body: b}
		if got := e.Live(); got != live[b.Kind()] {
			t.Errorf("Live() of %s = %v", b.Kind(), got)
		}
	}
	if event.IsLive(nil) {
		t.Error("no body counts as live")
	}
}

func TestRunStatusEnded(t *testing.T) {
	t.Parallel()
	ended := map[string]bool{"RunCompleted": true, "RunFailed": true, "RunCancelled": true}
	for name, s := range constants(t, "RunStatus") {
		if got := event.RunStatus(s).Ended(); got != ended[name] {
			t.Errorf("%s.Ended() = %v", name, got)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	one := &event.ToolCall{ID: "1"}
	two := &event.ToolCall{ID: "2"}
	m := event.Message{Content: []event.Block{&event.Text{Text: "a"}, one, &event.Thinking{Text: "no"}, &event.Text{Text: "b"}, two}}
	if got := m.Text(); got != "a\nb" {
		t.Errorf("Text() = %q", got)
	}
	if calls := m.Calls(); len(calls) != 2 || calls[0] != one || calls[1] != two {
		t.Errorf("Calls() = %v", calls)
	}
	if event.TextOf(nil) != "" || event.TextOf(m.Content[:1]) != "a" || event.CallsOf(m.Content[:1]) != nil {
		t.Error("few blocks are read wrongly")
	}
	u := event.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6, WebSearches: 7, FileSearches: 8}
	if got, want := u.Add(u), (event.Usage{Input: 2, Output: 4, Total: 6, CacheRead: 8, CacheWrite: 10, Reasoning: 12, WebSearches: 14, FileSearches: 16}); got != want {
		t.Errorf("Add = %+v", got)
	}
}
