package directory_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// The documents of rows as they were before agents, models and policies had settings. They stand in databases that
// nobody rewrites: what is here never changes.
const (
	frozenAgent = `{"name":"Helper","description":"Helps.","instructions":"Be brief.","model":"big","tools":[],` +
		`"permissions":{"deny":["rm_*"]},"limits":{"max_turns":3,"max_cost_usd":"0.50"},"skills":["letter"],` +
		`"sub_agents":{"look_up":{"instructions":"Look it up.","tools":["get_*"]}}}`
	frozenModel = `{"tenant":"acme","id":"big","status":"active","provider":"openai","name":"gpt-5.4","region":"eu","aliases":["sonnet"],` +
		`"prices":{"input":"3","output":"15"},"revision":1,"created_at":"2026-11-20T10:00:00Z","updated_at":"2026-11-20T10:00:00Z"}`
	frozenPolicy = `{"permissions":{"ask":["*"]},"models":["own:*"]}`
)

// Rows of an earlier version are read as they were, and are written without the members that they did not have.
func TestRowsWithoutSettingsAreRead(t *testing.T) {
	t.Parallel()
	edited(t, func(t *testing.T, d *directory.Directory, edit func(string)) {
		ctx := t.Context()
		_, err := d.CreateTenant(ctx, operator, directory.Tenant{ID: "acme"}, "")
		done(t, err)
		_, err = d.CreateModel(ctx, operator, directory.Model{Tenant: "acme", ID: "big", Provider: "demo", Name: "x", Aliases: []string{"sonnet"}}, "")
		done(t, err)
		_, err = d.CreateAgent(ctx, operator, directory.Agent{Tenant: "acme", ID: "helper"}, "")
		done(t, err)
		edit(`UPDATE agent_version SET doc = '` + frozenAgent + `'`)
		edit(`UPDATE model SET doc = '` + frozenModel + `'`)
		a, err := d.Agent(ctx, "acme", "helper", 0)
		done(t, err)
		m, err := d.Model(ctx, "acme", "sonnet")
		done(t, err)
		if a.Any() || a.Context != "" || a.Instructions != "Be brief." || m.Any() || m.Provider != "openai" {
			t.Errorf("they are read as %+v and %+v", a, m)
		}
		again, err := json.Marshal(a.AgentSpec)
		done(t, err)
		if diff := cmp.Diff(frozenAgent, string(again)); diff != "" {
			t.Errorf("an agent is written otherwise (-was +is):\n%s", diff)
		}
		var p directory.Policy
		done(t, json.Unmarshal([]byte(frozenPolicy), &p))
		if again, err = json.Marshal(p); err != nil || string(again) != frozenPolicy {
			t.Errorf("a policy is written as %s, %v", again, err)
		}
		// A change keeps what there was, as the version before.
		a, err = d.UpdateAgent(ctx, operator, "acme", "helper", 0, func(a *directory.Agent) error { a.Effort = "high"; return nil })
		done(t, err)
		if first, err := d.GetAgent(ctx, "acme", "helper", 1); err != nil || a.Version != 2 || a.Effort != "high" || first.Effort != "" || first.Model != "big" {
			t.Errorf("%+v, then %+v, %v", first, a, err)
		}
		_, err = d.UpdateModel(ctx, operator, "acme", "big", 0, func(m *directory.Model) error { m.Verbosity = "low"; return nil })
		done(t, err)
		if m, err = d.GetModel(ctx, "acme", "big"); err != nil || m.Verbosity != "low" || m.Region != "eu" {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// A version keeps its settings, whichever comes after it; the same settings again are no version.
func TestSettingsAreOfAVersion(t *testing.T) {
	t.Parallel()
	edited(t, func(t *testing.T, d *directory.Directory, _ func(string)) {
		ctx := t.Context()
		_, err := d.CreateTenant(ctx, operator, directory.Tenant{ID: "acme"}, "")
		done(t, err)
		p, seed, show := 0.5, int64(math.MaxInt64), false
		want := directory.Settings{
			Effort: "minimal", ShowThinking: &show, TopP: &p, Seed: &seed, Verbosity: "medium", ServiceTier: "flex",
			ServerTools: []directory.ServerTool{
				{Kind: directory.WebSearch, MaxUses: 5, Domains: []string{"a.example", "*.b.example/docs"}},
				{Kind: directory.FileSearch, Stores: []string{"fileSearchStores/a_b-1"}},
			},
		}
		_, err = d.CreateAgent(ctx, operator, directory.Agent{Tenant: "acme", ID: "a", AgentSpec: directory.AgentSpec{Settings: want, Context: "window"}}, "")
		done(t, err)
		for _, c := range []struct {
			change  func(s *directory.AgentSpec)
			version int
		}{
			{func(*directory.AgentSpec) {}, 1},
			{func(a *directory.AgentSpec) { same := seed; a.Seed = &same }, 1},
			{func(a *directory.AgentSpec) { a.ServerTools = []directory.ServerTool{} }, 2},
			{func(a *directory.AgentSpec) { a.ServerTools = nil }, 3},
			{func(a *directory.AgentSpec) { a.Context = "" }, 4},
		} {
			a, err := d.UpdateAgent(ctx, operator, "acme", "a", 0, func(a *directory.Agent) error { c.change(&a.AgentSpec); return nil })
			if err != nil || a.Version != c.version {
				t.Errorf("version %d, want %d: %v", a.Version, c.version, err)
			}
		}
		a, err := d.GetAgent(ctx, "acme", "a", 1)
		done(t, err)
		if diff := cmp.Diff(want, a.Settings); diff != "" || a.Context != "window" {
			t.Errorf("the first version is (-want +got):\n%s", diff)
		}
		if none, err := d.GetAgent(ctx, "acme", "a", 2); err != nil || none.ServerTools == nil || len(none.ServerTools) != 0 {
			t.Errorf("no tools at all are kept as %v, %v", none.ServerTools, err)
		}
	})
}

// What is not set is that of below; an empty list of tools is set.
func TestSettingsOverOthers(t *testing.T) {
	t.Parallel()
	yes, no, p, n := true, false, 0.5, int64(3)
	below := directory.Settings{
		Effort: "high", ShowThinking: &yes, TopP: &p, Seed: &n, Verbosity: "low", ServiceTier: "flex", ServerTools: []directory.ServerTool{{Kind: directory.WebFetch}},
	}
	if diff := cmp.Diff(below, directory.Settings{}.Over(below)); diff != "" {
		t.Errorf("nothing over others (-want +got):\n%s", diff)
	}
	above := directory.Settings{Effort: "low", ShowThinking: &no, ServerTools: []directory.ServerTool{}}
	want := below
	want.Effort, want.ShowThinking, want.ServerTools = "low", &no, above.ServerTools
	if diff := cmp.Diff(want, above.Over(below)); diff != "" {
		t.Errorf("some over others (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(below, below.Over(directory.Settings{Effort: "none", ServiceTier: "x"})); diff != "" {
		t.Errorf("all over others (-want +got):\n%s", diff)
	}
}

// The policy is asked about tools and tiers, and never lets stores through.
func TestAPolicyOnSettings(t *testing.T) {
	t.Parallel()
	all := directory.Policy{ServerTools: []string{"web_search", "web_fetch", "code_execution", "file_search", "mcp"}, ServiceTiers: []string{"flex"}}
	tool := func(kinds ...string) (s directory.Settings) {
		for _, k := range kinds {
			s.ServerTools = append(s.ServerTools, directory.ServerTool{Kind: k})
		}
		return s
	}
	for i, c := range []struct {
		policy  directory.Policy
		s       directory.Settings
		allowed bool
	}{
		{directory.Policy{}, directory.Settings{Effort: "max", Verbosity: "low"}, true},
		{directory.Policy{}, directory.Settings{ServerTools: []directory.ServerTool{}}, true},
		{directory.Policy{}, tool("web_search"), false},
		{directory.Policy{}, directory.Settings{ServiceTier: "flex"}, false},
		{all, tool("web_search", "web_fetch", "code_execution"), true},
		{all, directory.Settings{ServiceTier: "flex"}, true},
		{all, directory.Settings{ServiceTier: "priority"}, false},
		{all, tool("web_search", "file_search"), false},
	} {
		err := c.policy.AllowsSettings(&c.s)
		if (err == nil) != c.allowed || err != nil && event.KindOf(err) != event.ErrPermission {
			t.Errorf("%d: %v", i, err)
		}
	}
}
