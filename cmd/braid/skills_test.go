package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/service"
)

// skillsFolder has two skills, and an unreadable one.
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

// The agent of a run loads a skill. An unreadable skill is reported, and the rest works.
func TestRunWithSkills(t *testing.T) {
	t.Parallel()
	dir := skillsFolder(t)
	p, out, errs := testProcess(t, nil, "run", "--ephemeral", "--model", "demo", "--skills", t.TempDir(), "--skills", dir, "skill name=haiku")
	if code := p.run(t.Context()); code != 0 || !strings.Contains(out.String(), "Write three lines.") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if !strings.Contains(errs.String(), `braid: the skill broken is left out: its name is "brokn"`) || strings.Contains(errs.String(), dir) {
		t.Errorf("%s", errs)
	}
	p, _, errs = testProcess(t, nil, "run", "--ephemeral", "--model", "demo", "--skills", filepath.Join(dir, "absent"), "hi")
	if code := p.run(t.Context()); code == 0 || !strings.Contains(errs.String(), "there is no such folder of skills") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// The server's agents have the skills too, and a request names the preferred ones.
func TestServeWithSkills(t *testing.T) {
	t.Parallel()
	var asked string
	p, _, _ := testProcess(t, nil)
	p.openRef = func(string) (braid.Model, error) {
		return demo.Answer("asked", func(r *model.Request) demo.Rule {
			asked = r.Instructions
			return demo.Rule{Reply: []demo.Piece{demo.Say("Yes.")}}
		}), nil
	}
	a, err := p.openAgents(t.Context(), &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "demo"}, AgentSettings: conf.AgentSettings{Tools: "none", Skills: []string{skillsFolder(t)}},
	}}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, c := range []struct {
		prefer []string
		has    string
		hasNot string
	}{
		{nil, "- haiku: Writes haiku.\n- letter: Writes letters.\n</skills>", "first"},
		{[]string{"letter"}, "- letter: Writes letters.\n- haiku: Writes haiku.\nWhere it fits, use one of these first, in this order: letter.", "three lines"},
	} {
		agent, err := a.Agent(t.Context(), service.AgentRequest{Skills: c.prefer})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), "Hello."); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(asked, c.has) || strings.Contains(asked, c.hasNot) {
			t.Errorf("with %q the model is told\n%s", c.prefer, asked)
		}
	}
	if _, err := a.Agent(t.Context(), service.AgentRequest{Skills: []string{"leter"}}); event.KindOf(err) != event.ErrUnsupported || !strings.Contains(err.Error(), "letter") {
		t.Errorf("a skill that there is not: %v", err)
	}
}
