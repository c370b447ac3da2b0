package anthropic_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// Instructions and tools change at any time, tools of the vendor's run, and histories are
// shortened: the vendor never refuses the next request. Where only setups change, all thinking goes
// back, and the model has the tools and instructions of the newest.
func TestNoSetupIsRefused(t *testing.T) {
	if race.On {
		t.Skip("make test runs it without the race detector, which makes it many times slower")
	}
	t.Parallel()
	var next []anthropictest.Part
	var told *anthropictest.Told
	server := anthropictest.StartPreserved(func(s *anthropictest.Told) []anthropictest.Part { told = s; return next })
	t.Cleanup(server.Close)
	opened := func() *anthropic.Model {
		m, err := anthropic.New(sonnet, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	spec := func(name, says string) model.ToolSpec {
		return model.ToolSpec{Name: name, Description: says, Schema: []byte(`{"type":"object","properties":{}}`)}
	}
	setups := []model.Setup{
		{Instructions: "Be brief.", Tools: []model.ToolSpec{spec("a", "")}},
		{Tools: []model.ToolSpec{spec("a", ""), spec("b", "")}},
		{Instructions: "Today is Monday.", Tools: []model.ToolSpec{spec("a", "new")}},
		{Instructions: "Be brief."},
		{Instructions: "Be brief.", Tools: []model.ToolSpec{spec("b", ""), spec("a", "")}},
	}
	searches := 0
	before := 0 // requests
	rapid.Check(t, func(t *rapid.T) {
		m := opened()
		// The first setup has tools: without, the conversation is offered none at first.
		req := &model.Request{Messages: []event.Message{said("Go.")}, Setups: []model.Setup{rapid.SampledFrom(setups).Draw(t, "setup")}}
		if rapid.Bool().Draw(t, "search") {
			req.Options.ServerTools = []model.ServerTool{{Kind: model.WebSearch}}
		}
		kept := true // nothing but setups and the end has changed
		for range rapid.IntRange(2, 14).Draw(t, "steps") {
			what := rapid.SampledFrom([]string{"grow", "grow", "setup", "setup", "late", "process", "edit", "window"}).Draw(t, "what")
			switch what {
			case "setup", "late":
				s := rapid.SampledFrom(setups).Draw(t, "setup")
				if s.From = len(req.Messages) - 1; what == "late" {
					s.From++ // the answer's index, not that of what is answered
				}
				req.Setups = append(slices.Clone(req.Setups), s)
			case "process":
				m = opened()
			case "edit":
				req.Messages = edited(t, req.Messages, what)
				kept = false
			case "window":
				if n := len(req.Messages); n > 4 && len(event.CallsOf(req.Messages[n-4].Content)) == 0 {
					req.Messages = append([]event.Message{said("So far: much.")}, req.Messages[n-2:]...)
					if len(event.CallsOf(req.Messages[1].Content)) == 0 {
						req.Messages[2] = said("Go on.")
					}
					req.Setups = []model.Setup{req.Setups[len(req.Setups)-1]}
					req.Setups[0].From = 0
					kept = false
				}
			}
			last := req.Setups[len(req.Setups)-1]
			req.Instructions, req.Tools = last.Instructions, last.Tools
			next = answering(t)
			if len(req.Options.ServerTools) > 0 && rapid.Bool().Draw(t, "searches") {
				searches++
				id := fmt.Sprint("srvtoolu_", searches)
				next = append([]anthropictest.Part{
					{Raw: `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{"query":"a < b"}}`},
					{Raw: `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[{"type":"web_search_result","url":"https://e.com","encrypted_content":"Eo=="}]}`},
				}, next...)
			}
			for _, p := range next {
				if p.Tool != "" && !slices.ContainsFunc(req.Tools, func(s model.ToolSpec) bool { return s.Name == p.Tool }) {
					next = []anthropictest.Part{{Thinks: true}, {Text: "Without tools."}}
					break
				}
			}
			r := modeltest.Call(context.Background(), m, req)
			all := server.Asked()
			asked, first := all[before:], all[before]
			before = len(all)
			if r.Err != nil || len(asked) != 1 {
				t.Fatalf("after %s: %v, %s\n%s", what, r.Err, first.Refused, strings.ReplaceAll(string(first.Body), "},{", "},\n{"))
			}
			if want := sendable(req.Messages); kept && thoughtsIn(first.Body) != want {
				t.Fatalf("after %s: %d thinking blocks of %d are sent\n%s", what, thoughtsIn(first.Body), want, strings.ReplaceAll(string(first.Body), "},{", "},\n{"))
			}
			holdsSetup(t, told, req)
			req.Messages = append(slices.Clone(req.Messages), event.Message{Role: event.RoleAssistant, Content: r.Content}, reply(r.Content))
		}
	})
}

// holdsSetup checks that the model has what the request says.
func holdsSetup(t *rapid.T, told *anthropictest.Told, req *model.Request) {
	var want []string
	for _, s := range req.Tools {
		want = append(want, s.Name)
	}
	for range req.Options.ServerTools {
		want = append(want, "web_search")
	}
	got := slices.Clone(told.Tools)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || !strings.HasSuffix(told.System, req.Instructions) {
		t.Fatalf("the model has %v and %q, want %v and %q", got, told.System, want, req.Instructions)
	}
}

// Models and services that take no changes between messages get the newest setup at the head.
func TestSetupsElsewhere(t *testing.T) {
	t.Parallel()
	req := &model.Request{Instructions: "New.", Messages: []event.Message{said("Hi."), {Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "Yes?"}}}, said("Go.")}}
	req.Setups = []model.Setup{{Instructions: "Old."}, {From: 2, Instructions: "New."}}
	for _, name := range served {
		m, server := open(t, name, nil, anthropictest.Text("ok"))
		r := modeltest.Call(context.Background(), m, req)
		body := string(server.Asked()[0].Body)
		if inside := strings.Contains(body, `"role":"system"`); r.Err != nil || inside != m.Info().Setups || inside != strings.Contains(body, "Old.") {
			t.Errorf("%s: %v, %s", name, r.Err, body)
		}
	}
	m, server := openBedrock(t, "us.anthropic.claude-opus-5-5-v1:0", nil, anthropictest.BedrockText("ok"))
	if r := modeltest.Call(context.Background(), m, req); r.Err != nil || m.Info().Setups || strings.Contains(string(server.Asked()[0].Body), "Old.") {
		t.Errorf("Bedrock: %v", r.Err)
	}
}
