package agents

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
	"github.com/braidrun/braid/skill"
)

// A new run that prefers a skill that is not there is refused. A run that was accepted goes on without it.
func TestPreferredSkills(t *testing.T) {
	t.Parallel()
	model, err := demo.Load("assistant")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), Options{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	files := skillpack.NewStore((&journal.Memory{}).Blobs())
	own := []directory.Skill{{ID: "pdf", Status: directory.Active}, {ID: "idle", Status: directory.Inactive}}
	for name, c := range map[string]struct {
		skills []directory.Skill
		tools  []string
		prefer []string
		words  string
	}{
		"one":          {own, nil, []string{"pdf"}, ""},
		"none":         {own, nil, nil, ""},
		"a slip":       {own, nil, []string{"pdf", "pfd"}, "did you mean pdf?"},
		"inactive":     {own, nil, []string{"idle"}, `the skill "idle" is not active`},
		"no skills":    {nil, nil, []string{"pdf"}, "there are no skills here"},
		"not the tool": {own, []string{"clock"}, []string{"pdf"}, "this agent has no skills"},
		"the tool":     {own, []string{"sk*"}, []string{"pdf"}, ""},
	} {
		r := service.AgentRequest{Skills: c.prefer, Parts: service.TenantParts{Skills: c.skills, SkillFiles: files}}
		r.Tools = c.tools
		_, err := a.Agent(t.Context(), r)
		if e, ok := err.(*event.Error); c.words == "" && err != nil ||
			c.words != "" && (!ok || e.Kind != event.ErrUnsupported || e.Code != "SKILL_UNKNOWN" || !strings.Contains(e.Error(), c.words)) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
		r.Place.Accepted = true
		agent, err := a.Agent(t.Context(), r)
		if err != nil {
			t.Errorf("%s, accepted: %v", name, err)
			continue
		}
		offered := false
		for _, tool := range agent.Tools() {
			offered = offered || tool.Spec().Name == skill.ToolName
		}
		if want := c.skills != nil && name != "not the tool"; offered != want {
			t.Errorf("%s: the tool is offered: %v", name, offered)
		}
	}
}
