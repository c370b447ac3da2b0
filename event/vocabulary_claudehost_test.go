package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// What a host must write to the program, written from our events: prompts and
// the answers to its questions.
func TestVocabularyClaudeHostLines(t *testing.T) {
	t.Parallel()
	prompts, answers := 0, 0
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		if !r.dialog {
			continue
		}
		var want []string
		for _, l := range r.lines {
			var c claudeLine
			if err := json.Unmarshal(l.data, &c); err != nil {
				t.Fatal(err)
			}
			answer := c.Type == "control_response" && strings.Contains(string(l.data), `"behavior"`)
			if l.host && (c.Type == "user" || answer) {
				want = append(want, string(l.data))
			}
		}
		var got []string
		for _, e := range r.events {
			switch b := e.Body.(type) {
			case *event.UserMessage:
				if e.Audience == event.Everyone {
					prompts++
					got = append(got, asFrame(map[string]any{
						"type": "user", "session_id": "", "parent_tool_use_id": nil,
						"message": map[string]string{"role": "user", "content": event.TextOf(b.Content)},
					}))
				}
			case *event.Answered:
				answers++
				var a event.Approval
				if err := json.Unmarshal(b.Value, &a); err != nil {
					t.Fatal(err)
				}
				p := claudePermission{Behavior: "deny", Message: a.Reason, Interrupt: a.Stop}
				if a.Approved {
					p = claudePermission{Behavior: "allow", Input: a.Args}
				}
				got = append(got, asFrame(map[string]any{"type": "control_response", "response": map[string]any{
					"subtype": "success", "request_id": b.Token, "response": p,
				}}))
			}
		}
		sameFrames(t, foreignForm{plain: plainJSON}, got, want)
	}
	if prompts != 15 || answers != 3 {
		t.Errorf("%d prompts and %d answers, want 15 and 3", prompts, answers)
	}
}
