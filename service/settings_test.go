package service_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// An agent's settings go before its model's, each agent below has its own, and what nobody pays but the tenant needs
// no policy.
func TestSettingsOfAgents(t *testing.T) {
	t.Parallel()
	d := people(t)
	yes, p := true, 0.25
	search := []directory.ServerTool{{Kind: directory.WebSearch, MaxUses: 2, Blocked: []string{"x.example"}}}
	addModel(t, d, directory.Model{ID: "shared", Provider: "anthropic", Name: "a", Settings: directory.Settings{
		Effort: "high", ServiceTier: "auto", ServerTools: search,
	}})
	addModel(t, d, directory.Model{Tenant: "acme", ID: "paid", Provider: "openai", Name: "b", Credential: directory.Credential{Env: "KEY"}})
	addAgent(t, d, "reader", directory.AgentSpec{Settings: directory.Settings{Effort: "low", TopP: &p}, Context: "window"})
	addAgent(t, d, "clerk", directory.AgentSpec{
		Model: "shared", Settings: directory.Settings{Effort: "max", ShowThinking: &yes}, Context: "summary",
		SubAgents: map[string]directory.SubAgent{"scout": {Agent: "reader"}, "critic": {Instructions: "Judge."}, "payer": {Agent: "reader", Model: "paid"}},
	})
	b := service.OptionsBuilder{Directory: d}
	build := func(agent string) (service.AgentRequest, error) {
		t.Helper()
		x := &service.ExecutionContext{Principal: ann}
		var err error
		if x.Tenant, err = d.Tenant(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		if x.Agent, err = d.Agent(t.Context(), "acme", agent, 0); err != nil {
			t.Fatal(err)
		}
		return b.Build(t.Context(), x)
	}
	r, err := build("clerk")
	if err != nil {
		t.Fatal(err)
	}
	scout, critic, payer := r.SubAgents["scout"], r.SubAgents["critic"], r.SubAgents["payer"]
	for name, c := range map[string]struct{ got, want directory.Settings }{
		"clerk":  {r.Settings, directory.Settings{Effort: "max", ShowThinking: &yes, ServiceTier: "auto", ServerTools: search}},
		"scout":  {scout.Settings, directory.Settings{Effort: "low", TopP: &p, ServiceTier: "auto", ServerTools: search}},
		"critic": {critic.Settings, directory.Settings{Effort: "high", ServiceTier: "auto", ServerTools: search}},
		"payer":  {payer.Settings, directory.Settings{Effort: "low", TopP: &p}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if r.Context != "summary" || scout.Context != "window" || critic.Context != "" {
		t.Errorf("the contexts are %q, %q and %q", r.Context, scout.Context, critic.Context)
	}
	// Settings go over the server's own, which stay where they say nothing.
	seed := int64(7)
	servers := model.Options{MaxTokens: 9, Effort: "none", Seed: &seed, ServiceTier: "flex", ServerTools: []model.ServerTool{{Kind: model.RemoteMCP}}}
	want := servers
	want.Effort, want.ShowThinking, want.ServiceTier = "max", true, "auto"
	want.ServerTools = []model.ServerTool{{Kind: model.WebSearch, MaxUses: 2, Blocked: []string{"x.example"}}}
	if diff := cmp.Diff(want, r.ModelOptions(servers)); diff != "" {
		t.Errorf("the options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(servers, (&service.AgentOptions{}).ModelOptions(servers)); diff != "" {
		t.Errorf("no settings change the options (-want +got):\n%s", diff)
	}
	none := service.AgentOptions{Settings: directory.Settings{ServerTools: []directory.ServerTool{}}}
	if got := none.ModelOptions(servers); len(got.ServerTools) != 0 {
		t.Errorf("no tools are %v", got.ServerTools)
	}
	// An agent below asks the policy, too: a model that is asked with the operator's variable is the operator's.
	setAgent(t, d, "reader", func(a *directory.Agent) { a.ServerTools = search })
	setAgent(t, d, "clerk", func(a *directory.Agent) {
		a.SubAgents = map[string]directory.SubAgent{"payer": {Agent: "reader", Model: "paid"}}
	})
	_, err = build("clerk")
	if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != directory.SettingForbidden {
		t.Errorf("an agent below is given a tool: %v", err)
	}
	setTenant(t, d, func(of *directory.Tenant) { of.Policy.ServerTools = []string{directory.WebSearch} })
	if _, err = build("clerk"); err != nil {
		t.Errorf("with the policy: %v", err)
	}
}
