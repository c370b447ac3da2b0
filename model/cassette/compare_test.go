package cassette_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Whatever part of a request is another one is found, and named.
func TestEachPartIsCompared(t *testing.T) {
	t.Parallel()
	one := 1.0
	asked := func(change func(*model.Request)) *model.Request {
		call := &event.ToolCall{ID: "c", Name: "add", Args: json.RawMessage(`{"a": [1, {"b": "x"}], "n": 1.0}`)}
		r := &model.Request{
			Run: "r", Cycle: 2, Attempt: 1, Instructions: "Be brief.",
			Tools:      []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}},
			ToolChoice: model.ToolChoice{Mode: model.ToolsAny}, Output: &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)},
			Options: model.Options{MaxTokens: 9, Temperature: &one, StopWords: []string{"END"}},
			Messages: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Add."}, &event.Image{MIME: "image/png", Data: []byte{1}}}},
				{Role: event.RoleAssistant, Content: []event.Block{&event.Thinking{Text: "hm", Signature: "s"}, call}},
				{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: "c", Name: "add", Content: []event.Block{&event.Text{Text: "2"}}}}},
			},
		}
		if change != nil {
			change(r)
		}
		return r
	}
	ask := func(m model.Model, r *model.Request) (err error) {
		for _, err = range m.Stream(t.Context(), r) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	tape := recording(t, said(func(*model.Request) ([]model.Chunk, error) { return []model.Chunk{stop}, nil }), func(m model.Model) {
		if err := ask(m, asked(nil)); err != nil {
			t.Fatal(err)
		}
	})
	block := func(r *model.Request, message, block int, b event.Block) {
		r.Messages[message].Content[block] = b
	}
	for words, change := range map[string]func(*model.Request){
		"": nil,
		`the instructions is "Be brief", the recording has "Be brief."`: func(r *model.Request) { r.Instructions = "Be brief" },
		`the list of tools is "add, sub", the recording has "add"`: func(r *model.Request) {
			r.Tools = append(r.Tools, model.ToolSpec{Name: "sub"})
		},
		`the description of the tool "add" is "adds"`: func(r *model.Request) { r.Tools[0].Description = "adds" },
		`the schema of the tool "add", properties, b is {}, the recording has nothing`: func(r *model.Request) {
			r.Tools[0].Schema = json.RawMessage(`{"type":"object","properties":{"a":{},"b":{}}}`)
		},
		`the choice of tools, mode is "none", the recording has "any"`: func(r *model.Request) { r.ToolChoice.Mode = model.ToolsNone },
		`the choice of tools is null`:                                  func(r *model.Request) { r.ToolChoice = model.ToolChoice{} },
		`the form of the answer, schema, type is "array"`:              func(r *model.Request) { r.Output.Schema = json.RawMessage(`{"type":"array"}`) },
		`the model's options, stop_words[0] is "STOP"`:                 func(r *model.Request) { r.Options.StopWords = []string{"STOP"} },
		`the number of messages is 2, the recording has 3`:             func(r *model.Request) { r.Messages = r.Messages[:2] },
		`the role of message 2 is "user", the recording has "assistant"`: func(r *model.Request) {
			r.Messages[1].Role = event.RoleUser
		},
		`the number of blocks of message 1 (user) is 1, the recording has 2`: func(r *model.Request) {
			r.Messages[0].Content = r.Messages[0].Content[:1]
		},
		`message 1 (user), block 1, text is "Sub."`: func(r *model.Request) { block(r, 0, 0, &event.Text{Text: "Sub."}) },
		`message 1 (user), block 2, data is "Ag=="`: func(r *model.Request) {
			block(r, 0, 1, &event.Image{MIME: "image/png", Data: []byte{2}})
		},
		`message 2 (assistant), block 1, signature is "t", the recording has "s"`: func(r *model.Request) {
			block(r, 1, 0, &event.Thinking{Text: "hm", Signature: "t"})
		},
		`message 2 (assistant), block 2, args, a[1], b is "y", the recording has "x"`: func(r *model.Request) {
			block(r, 1, 1, &event.ToolCall{ID: "c", Name: "add", Args: json.RawMessage(`{"a":[1,{"b":"y"}],"n":1.0}`)})
		},
		`message 2 (assistant), block 2, args, n is 2, the recording has 1.0`: func(r *model.Request) {
			block(r, 1, 1, &event.ToolCall{ID: "c", Name: "add", Args: json.RawMessage(`{"a":[1,{"b":"x"}],"n":2}`)})
		},
		`message 3 (user), block 1, is_error is true, the recording has nothing`: func(r *model.Request) {
			block(r, 2, 0, &event.ToolResult{Call: "c", Name: "add", Content: []event.Block{&event.Text{Text: "2"}}, IsError: true})
		},
		`the recording has no call (run 1, cycle 3) of said`:            func(r *model.Request) { r.Cycle = 3 },
		`the recording has no call (run 1, cycle 2, attempt 2) of said`: func(r *model.Request) { r.Attempt = 2 },
		`the recording has no call (run 1, scope t1, cycle 2) of said`:  func(r *model.Request) { r.Scope = "t1" },
	} {
		err := ask(open(t, tape), asked(change))
		if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	// Whoever wants to see the thinking asks the same.
	if err := ask(open(t, tape), asked(func(r *model.Request) { r.Options.ShowThinking = true })); err != nil {
		t.Errorf("a wish to see thinking: %v", err)
	}
}
