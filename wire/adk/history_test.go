package adk_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/adk"
)

// The events of a session give the messages that a model sees, and the state.
func TestImport(t *testing.T) {
	t.Parallel()
	events, err := adk.DecodeList([]byte(`[
		{"invocationId":"e-1","author":"user","content":{"role":"user","parts":[{"text":"hi"}]},"actions":{"stateDelta":{"a":1,"temp:b":2}}},
		{"invocationId":"e-1","author":"guide","partial":true,"content":{"role":"model","parts":[{"text":"I lo"}]}},
		{"invocationId":"e-1","author":"guide","content":{"role":"model","parts":[{"text":"I look"},{"functionCall":{"name":"f","args":{"x":1}}},{"functionCall":{"name":"f"}}]}},
		{"invocationId":"e-1","author":"guide","content":{"role":"model","parts":[{"functionCall":{"id":"q","name":"adk_request_confirmation"}}]},"longRunningToolIds":["q"]},
		{"invocationId":"e-1","author":"user","content":{"role":"user","parts":[{"functionResponse":{"id":"q","name":"adk_request_confirmation","response":{"confirmed":true}}}]}},
		{"invocationId":"e-1","author":"guide","content":{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":1}}},{"functionResponse":{"name":"f","response":{"error":"no"}}}]},"actions":{"stateDelta":{"a":null,"c":[1]}}},
		{"invocationId":"e-1","author":"guide","content":{"role":"model","parts":[{"text":"done"}]}},
		{"invocationId":"e-2","author":"user","content":{"parts":[{"text":"forget this"}]}},
		{"invocationId":"e-3","author":"user","actions":{"rewindBeforeInvocationId":"e-2"}},
		{"invocationId":"e-4","author":"user","content":{"parts":[{"text":"and?"}]}}
	]`), 20)
	if err != nil {
		t.Fatal(err)
	}
	h, err := adk.Import(events)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range h.Messages {
		text := string(m.Role)
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				text += " " + b.Text
			case *event.ToolCall:
				text += " call " + b.ID + string(b.Args)
			case *event.ToolResult:
				text += " result " + b.Call + string(b.Structured)
				if b.IsError {
					text += "!"
				}
			}
		}
		told = append(told, text)
	}
	want := []string{
		"user hi", `assistant I look call adk-1{"x":1} call adk-2{}`, `user result adk-1{"result":1} result adk-2{"error":"no"}!`,
		"assistant done", "user and?",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if len(h.State) != 2 || string(h.State["a"]) != "null" || string(h.State["c"]) != "[1]" {
		t.Errorf("the state is %s", h.State)
	}
	events[0].Content.Parts[0] = adk.Part{Inline: &adk.Blob{MIME: "image/png", Data: "!"}}
	if _, err := adk.Import(events); err == nil || !strings.Contains(err.Error(), "base64") {
		t.Errorf("data that is no base64: %v", err)
	}
}
