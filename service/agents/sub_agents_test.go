package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// taskCalls is an answer that calls the Task tool with these arguments.
func taskCalls(args ...string) openaitest.Answer {
	var chunks []model.Chunk
	for i, a := range args {
		id := "call_" + string(rune('a'+i))
		chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i, ID: id, Text: "Task"}, model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: a})
	}
	return openaitest.Stream(openaitest.Chat, chunks, event.StopToolUse, event.Usage{Input: 20, Output: 4, Total: 24})
}

// A tenant's agent calls its sub-agents with the Task tool: each has its own instructions, and the model that the call chose by
// the tenant's alias. Another tenant's alias, and one that the tenant may not use, are error results.
func TestTasksOfTenants(t *testing.T) {
	t.Parallel()
	vendor := openaitest.Start(
		taskCalls(`{"subagent_type":"critic","prompt":"Judge it.","description":"judge","model":"haiku"}`),
		openaitest.Text(openaitest.Chat, "It is good."),
		taskCalls(
			`{"subagent_type":"critic","prompt":"Judge it.","description":"judge","model":"theirs"}`,
			`{"subagent_type":"nobody","prompt":"Judge it.","description":"judge"}`,
			`{"subagent_type":"critic","prompt":"Judge it.","description":"judge","model":"openai:gpt-5.4-pro"}`,
		),
		openaitest.Text(openaitest.Chat, "Dear Ann."),
	)
	defer vendor.Close()
	env := map[string]string{"OPENAI_API_KEY": "sk-operator", "OPENAI_BASE_URL": vendor.URL, "ACME": openaitest.Key}
	getenv := func(name string) string { return env[name] }
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := directory.New(directory.Options{Database: db, Environment: getenv})
	defer d.Close()
	by := directory.By{Operator: true}
	try := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(d.CreateTenant(t.Context(), by, directory.Tenant{ID: "acme", SystemPrompt: "You work for Acme."}, ""))
	try(d.CreateTenant(t.Context(), by, directory.Tenant{ID: "other"}, ""))
	own := func(tenant, id, name string, aliases ...string) {
		try(d.CreateModel(t.Context(), by, directory.Model{
			Tenant: tenant, ID: id, Provider: "openai", Name: name, Aliases: aliases, Credential: directory.Credential{Env: "ACME"},
		}, ""))
	}
	own("acme", "writer", "gpt-5.4")
	own("acme", "small", "gpt-5.4-mini", "haiku")
	own("other", "large", "gpt-5.4-pro", "theirs", "opus")
	try(d.CreateAgent(t.Context(), by, directory.Agent{Tenant: "acme", ID: "clerk", AgentSpec: directory.AgentSpec{
		Instructions: "You write letters.", Model: "writer", Tools: []string{},
		SubAgents: map[string]directory.SubAgent{"critic": {
			Description: "Judges a letter.", Instructions: "Be kind.", Tools: []string{}, Via: directory.ViaTask, Limits: directory.Limits{Cycles: 3},
		}},
	}}, ""))
	assistant, err := demo.Load("assistant")
	if err != nil {
		t.Fatal(err)
	}
	opener, err := models.NewOpener(models.Options{Env: getenv})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), Options{Model: assistant, ModelRef: "demo", Models: opener})
	if err != nil {
		t.Fatal(err)
	}
	store := &journal.Memory{}
	s, err := service.New(service.Options{Journal: store, Rows: &service.MemoryRows{}, Agent: a.Agent, Directory: d, OpenModel: a.OpenModel})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ann := service.Principal{Tenant: "acme", User: "ann"}
	conv, err := s.CreateConversation(t.Context(), ann, service.NewConversation{Title: "Letters", Agent: "clerk"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.StartRun(t.Context(), ann, conv.ID, service.RunRequest{Input: "A letter to Ann, please."}); err != nil {
		t.Fatal(err)
	}
	var events []*event.Event
	until(t, "the run ends", func() bool {
		if events, err = store.Read(t.Context(), conv.ID, 0, 0); err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return false
		}
		_, ended := events[len(events)-1].Body.(*event.RunEnded)
		return ended
	})
	var results []string
	var opened []*event.ScopeOpened
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.StepEnded:
			if b.Result != nil {
				results = append(results, event.TextOf(b.Result.Content))
			}
		case *event.ScopeOpened:
			opened = append(opened, b)
		case *event.RunEnded:
			if b.Status != event.RunCompleted || len(b.Agents) != 2 || b.Agents[1].Agent != "critic" || b.Agents[1].Models[0].Model != "openai:gpt-5.4-mini" {
				t.Errorf("the run ended as %+v", b)
			}
		}
	}
	slices.Sort(results)
	if len(opened) != 1 || opened[0].Asked != "haiku" || opened[0].Model != "openai:gpt-5.4-mini" {
		t.Errorf("the agents that worked are %+v", opened)
	}
	for i, want := range []string{
		`Error: the agent cannot work with the model "openai:gpt-5.4-pro": `, `Error: the agent cannot work with the model "theirs": `,
		`Error: there is no subagent_type "nobody"; the types are critic.`, "It is good.",
	} {
		if i >= len(results) || !strings.HasPrefix(results[i], want) {
			t.Errorf("the results are %q, want %q", results, want)
			break
		}
	}
	var body struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	asked := vendor.Asked()
	if err := json.Unmarshal(asked[0].Body, &body); err != nil || len(body.Tools) != 1 {
		t.Fatalf("%v: %s", err, asked[0].Body)
	}
	if f := body.Tools[0].Function; f.Name != "Task" || !strings.Contains(f.Description, "- critic: Judges a letter.") ||
		!strings.Contains(string(f.Parameters), "For example: haiku.") {
		t.Errorf("the tool is %+v", f)
	}
	if err := json.Unmarshal(asked[1].Body, &body); err != nil || body.Model != "gpt-5.4-mini" || body.Messages[0].Content != "You work for Acme.\n\nBe kind." {
		t.Errorf("the critic is asked %s (%v)", asked[1].Body, err)
	}
}
