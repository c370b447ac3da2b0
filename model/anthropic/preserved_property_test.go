package anthropic_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// Whatever becomes of a history between two requests, the vendor never refuses the next
// one. As long as requests only grow, all thinking goes back.
func TestNoHistoryIsRefused(t *testing.T) {
	if race.On {
		t.Skip("make test runs it without the race detector, which makes it many times slower")
	}
	t.Parallel()
	var next []anthropictest.Part
	server := anthropictest.StartPreserved(func(*anthropictest.Told) []anthropictest.Part { return next })
	t.Cleanup(server.Close)
	opened := func(name string) *anthropic.Model {
		m, err := anthropic.New(name, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	spec := func(name, says string) model.ToolSpec {
		return model.ToolSpec{Name: name, Description: says, Schema: []byte(`{"type":"object","properties":{}}`)}
	}
	names := []string{"claude-sonnet-5-5", "claude-opus-5-5"}
	instructions := []string{"", "Be brief.", "Today is Monday."}
	tools := [][]model.ToolSpec{{spec("a", "")}, {spec("a", "new")}, {spec("a", ""), spec("b", "")}, {spec("b", ""), spec("a", "")}}
	before := 0 // requests
	rapid.Check(t, func(t *rapid.T) {
		models := map[string]*anthropic.Model{}
		req := &model.Request{Tools: tools[0], Messages: []event.Message{said("Go.")}}
		name := names[0]
		branches := [][]event.Message{}
		grown := true // nothing has changed but the end
		for range rapid.IntRange(2, 14).Draw(t, "steps") {
			what := rapid.SampledFrom([]string{
				"grow", "grow", "grow", "grow", "instructions", "tools", "model", "process", "summary", "window", "edit", "erase", "fork", "back",
			}).Draw(t, "what")
			grown = grown && (what == "grow" || what == "process" || what == "fork")
			switch what {
			case "instructions":
				req.Instructions = rapid.SampledFrom(instructions).Draw(t, "instructions")
			case "tools":
				req.Tools = rapid.SampledFrom(tools).Draw(t, "tools")
			case "model":
				name = rapid.SampledFrom(names).Draw(t, "model")
			case "process":
				clear(models)
			case "summary", "window":
				req.Messages = shortened(t, req.Messages, what)
			case "edit", "erase":
				req.Messages = edited(t, req.Messages, what)
			case "fork":
				branches = append(branches, slices.Clone(req.Messages))
			case "back":
				if len(branches) > 0 {
					req.Messages = slices.Clone(rapid.SampledFrom(branches).Draw(t, "branch"))
				}
			default:
			}
			if models[name] == nil {
				models[name] = opened(name)
			}
			next = answering(t)
			r := modeltest.Call(context.Background(), models[name], req)
			all := server.Asked()
			asked, first := all[before:], all[before]
			before = len(all)
			if last := all[len(all)-1]; r.Err != nil || len(asked) != 1 {
				t.Fatalf("after %s: %v, %s\n%s", what, r.Err, first.Refused, strings.ReplaceAll(string(first.Body), "},{", "},\n{"))
			} else if want := sendable(req.Messages); grown && thoughtsIn(last.Body) != want {
				t.Fatalf("after %s: %d thinking blocks of %d are sent", what, thoughtsIn(last.Body), want)
			}
			req.Messages = append(slices.Clone(req.Messages), event.Message{Role: event.RoleAssistant, Content: r.Content}, reply(r.Content))
		}
	})
}

func said(s string) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: s}}}
}

// reply is what follows an answer.
func reply(content []event.Block) event.Message {
	m := event.Message{Role: event.RoleUser}
	for _, c := range event.CallsOf(content) {
		m.Content = append(m.Content, &event.ToolResult{Call: c.ID, Name: c.Name, Content: []event.Block{&event.Text{Text: "done"}}})
	}
	if len(m.Content) == 0 {
		return said("Go on.")
	}
	return m
}

// answering draws an answer.
func answering(t *rapid.T) []anthropictest.Part {
	var parts []anthropictest.Part
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		switch rapid.SampledFrom([]string{"think", "hidden", "text", "text"}).Draw(t, "part") {
		case "think":
			parts = append(parts, anthropictest.Part{Thinks: true, Text: fmt.Sprint("Hm ", i)})
		case "hidden":
			parts = append(parts, anthropictest.Part{Thinks: true})
		default:
			parts = append(parts, anthropictest.Part{Text: fmt.Sprint("Text ", i)})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		parts = append(parts, anthropictest.Part{Tool: "a", Args: rapid.SampledFrom([]string{"", `{"x": 1.0}`, `{"b":"ü\u00e9","a":[]}`}).Draw(t, "args")})
	}
	return parts
}

// sendable counts the thinking that can go back: an answer does not end with thinking.
func sendable(messages []event.Message) (n int) {
	for _, m := range messages {
		trailing := true
		for _, b := range slices.Backward(m.Content) {
			switch b.(type) {
			case *event.Thinking, *event.RedactedThinking:
				if !trailing {
					n++
				}
			default:
				trailing = false
			}
		}
	}
	return n
}

// shortened leaves out the oldest messages, with a summary in their place or without.
func shortened(t *rapid.T, messages []event.Message, how string) []event.Message {
	var starts []int // messages of a person's
	for i, m := range messages {
		if _, ok := m.Content[0].(*event.Text); ok && m.Role == event.RoleUser && i > 0 {
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 {
		return messages
	}
	at := rapid.SampledFrom(starts).Draw(t, "from")
	if how == "window" {
		return slices.Clone(messages[at:])
	}
	first := event.Message{Role: event.RoleUser, Content: append([]event.Block{&event.Text{Text: "So far: much."}}, messages[at].Content...)}
	return append([]event.Message{first}, messages[at+1:]...)
}

// edited changes or takes out a block of an earlier message.
func edited(t *rapid.T, messages []event.Message, how string) []event.Message {
	messages = slices.Clone(messages)
	i := rapid.IntRange(0, len(messages)-1).Draw(t, "message")
	m := messages[i]
	k := rapid.IntRange(0, len(m.Content)-1).Draw(t, "block")
	m.Content = slices.Clone(m.Content)
	switch b := m.Content[k].(type) {
	case *event.Text:
		m.Content[k] = &event.Text{Text: "[taken out]"}
	case *event.ToolResult:
		m.Content[k] = &event.ToolResult{Call: b.Call, Name: b.Name, IsError: true, Content: []event.Block{&event.Text{Text: "cut"}}}
	case *event.Thinking:
		if how == "erase" {
			m.Content = slices.Delete(m.Content, k, k+1)
		}
	default:
	}
	if len(m.Content) > 0 {
		messages[i] = m
	}
	return messages
}
