package agents

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/demotool"
)

// A tenant's agent is asked over its provider's own wire: with the tenant's key, its whole system
// prompt in order, and the tools that fit its patterns.
func TestAgentsOfTenants(t *testing.T) {
	t.Parallel()
	vendor := openaitest.Start(
		openaitest.Text(openaitest.Chat, "Dear Ann."), openaitest.Text(openaitest.Chat, "A letter to Ann"),
		openaitest.Text(openaitest.Chat, "Yours."),
	)
	defer vendor.Close()
	env := map[string]string{"OPENAI_API_KEY": "sk-operator", "OPENAI_BASE_URL": vendor.URL, "ACME": openaitest.Key, "OTHER": "sk-wrong"}
	getenv := func(name string) string { return env[name] }
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := directory.New(directory.Options{Database: db, Environment: getenv, References: directory.References{Skills: []string{"letter", "gone"}}})
	defer d.Close()
	by := directory.By{Operator: true}
	try := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(d.CreateTenant(t.Context(), by, directory.Tenant{ID: "acme", SystemPrompt: "You work for Acme."}, ""))
	try(d.CreateModel(t.Context(), by, directory.Model{
		Tenant: "acme", ID: "writer", Provider: "openai", Name: "gpt-5.4", Aliases: []string{"haiku"}, Credential: directory.Credential{Env: "ACME"},
	}, ""))
	try(d.CreateAgent(t.Context(), by, directory.Agent{Tenant: "acme", ID: "clerk", AgentSpec: directory.AgentSpec{
		Instructions: "You write letters.", Model: "writer", Tools: []string{"calculator", "read_*", "skill*", "list_files"}, Skills: []string{"letter", "gone"},
		SubAgents: map[string]directory.SubAgent{"critic": {Description: "Judges a letter.", Instructions: "Be kind.", Model: "haiku", Tools: []string{}}},
	}}, ""))
	try(d.UpdateTenant(t.Context(), by, "acme", 0, func(x *directory.Tenant) error { x.Agent = "clerk"; return nil }))

	scratch := t.TempDir()
	model, err := demo.Load("assistant")
	if err != nil {
		t.Fatal(err)
	}
	opener, err := models.NewOpener(models.Options{Env: getenv})
	if err != nil {
		t.Fatal(err)
	}
	skills, _ := skill.Load(skillsFolder(t))
	a, err := New(t.Context(), Options{
		Model: model, ModelRef: "demo", Models: opener, Tools: []braid.Tool{demotool.Calculator(), demotool.Clock()}, Files: FilesIn(scratch), Skills: skills,
	})
	if err != nil {
		t.Fatal(err)
	}
	store := &journal.Memory{}
	s, err := service.New(service.Options{
		Journal: store, Rows: &service.MemoryRows{}, Agent: a.Agent, Directory: d, Instructions: "the server's", Workspace: a.Workspace, OpenModel: a.OpenModel,
	})
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
	conv, err := s.CreateConversation(t.Context(), ann, service.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(scratch, conv.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(scratch, conv.ID, "notes.txt"), []byte("be brief"), 0o600); err != nil {
		t.Fatal(err)
	}
	say := func(text string) *event.RunEnded {
		t.Helper()
		started, err := s.StartRun(t.Context(), ann, conv.ID, service.RunRequest{Input: text})
		if err != nil {
			t.Fatal(err)
		}
		var ended *event.RunEnded
		until(t, "the run ends", func() bool {
			events, err := store.Read(t.Context(), conv.ID, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(events); n > 0 && events[n-1].Run == started.Run.ID {
				ended, _ = events[n-1].Body.(*event.RunEnded)
			}
			return ended != nil
		})
		return ended
	}
	if end := say("A letter to Ann, please."); end.Status != event.RunCompleted {
		t.Fatalf("it ended as %+v: %v", end, end.Err)
	}
	var body struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	asked := vendor.Asked()
	if err := json.Unmarshal(asked[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	told := body.Messages[0].Content
	const prompt = `You work for Acme.

You write letters.

<workspace>
The files of this conversation are in the scratch folder. The tools read_file, list_files reach them, by their names.
- notes.txt (8 bytes)
</workspace>

<skills>`
	got, rest, _ := strings.Cut(told, "<skills>")
	if diff := cmp.Diff(prompt, got+"<skills>"); diff != "" || body.Model != "gpt-5.4" {
		t.Errorf("%s is told (-want +got):\n%s", body.Model, diff)
	}
	if !strings.Contains(rest, "Where it fits, use one of these first, in this order: letter.") || strings.Contains(told, "the server's") {
		t.Errorf("%s", rest)
	}
	var names []string
	for _, tool := range body.Tools {
		names = append(names, tool.Function.Name)
	}
	slices.Sort(names)
	if want := []string{"calculator", "critic", "list_files", "read_file", "skill"}; !slices.Equal(names, want) {
		t.Errorf("its tools are %v, want %v", names, want)
	}
	until(t, "the conversation has a title", func() bool {
		c, err := s.GetConversation(t.Context(), ann, conv.ID)
		return err != nil || c.Title == "A letter to Ann"
	})
	if c, err := s.GetConversation(t.Context(), ann, conv.ID); err != nil || c.Title != "A letter to Ann" || c.Agent != "clerk" || c.AgentVersion != 1 {
		t.Errorf("%+v (%v)", c.Row, err)
	}

	// Another key is another model: the old one is not asked with any more.
	if _, err := d.UpdateModel(t.Context(), by, "acme", "writer", 0, func(m *directory.Model) error {
		m.Credential = directory.Credential{Env: "OTHER"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if end := say("And another one."); end.Status != event.RunFailed || end.Err == nil || end.Err.Kind != event.ErrModelAuth {
		t.Errorf("with a wrong key it ended as %+v", end)
	}
	if n := len(a.own.open); n != 1 {
		t.Errorf("%d models are open", n)
	}
}

// skillsFolder holds two skills, and one that cannot be read.
func skillsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"haiku":  "---\nname: haiku\ndescription: Writes haiku.\n---\nWrite three lines.\n",
		"letter": "---\nname: letter\ndescription: Writes letters.\n---\nBegin with the date.\n",
		"broken": "---\nname: brokn\ndescription: x\n---\n",
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// until waits for what comes by itself. A minute is far more than any machine needs.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
