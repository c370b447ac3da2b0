package directorytest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

func validation(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	for _, id := range []string{"", "-a", "A", "a b", "a/b", "ä", "a\x00", strings.Repeat("a", 64), "../x", "a'"} {
		_, err := d.CreateTenant(ctx, Operator(), directory.Tenant{ID: id}, "")
		want(t, "tenant "+id, err, event.ErrInvalid, "")
		_, err = d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: id}, "")
		want(t, "agent "+id, err, event.ErrInvalid, "")
		_, err = d.CreateModel(ctx, of("acme"), model("acme", id), "")
		want(t, "model "+id, err, event.ErrInvalid, "")
	}
	long := strings.Repeat("x", 1<<20)
	for name, x := range map[string]directory.Tenant{
		"status": {Status: "gone"}, "prompt": {SystemPrompt: long}, "not text": {Name: "\xff"}, "zero": {SystemPrompt: "a\x00b"},
		"limit": {Limits: directory.Limits{Cycles: -1}}, "days": {Retention: directory.Retention{Conversations: -1}}, "agent": {Agent: "X Y"},
		"pattern": {Policy: directory.Policy{Permissions: directory.Permissions{Deny: []string{"["}}}},
	} {
		x.ID = "x"
		_, err := d.CreateTenant(ctx, Operator(), x, "")
		want(t, name, err, event.ErrInvalid, "")
	}
	for name, spec := range map[string]directory.AgentSpec{
		"instructions": {Instructions: long}, "tools": {Tools: []string{""}}, "many": {Tools: slices.Repeat([]string{"x"}, 1000)},
		"both":   {SubAgents: map[string]directory.SubAgent{"x": {Agent: "other", Instructions: "x"}}},
		"named":  {SubAgents: map[string]directory.SubAgent{"no name": {Agent: "other"}}},
		"via":    {SubAgents: map[string]directory.SubAgent{"x": {Instructions: "x", Via: "mail"}}},
		"behind": {SubAgents: map[string]directory.SubAgent{"x": {Instructions: "x", Background: directory.BackgroundStop}}},
		"never":  {SubAgents: map[string]directory.SubAgent{"x": {Instructions: "x", Via: directory.ViaTask, Background: "never"}}},
		"taken":  {SubAgents: map[string]directory.SubAgent{"Task": {Instructions: "x"}, "x": {Instructions: "x", Via: directory.ViaTask}}},
		"bound":  {SubAgents: map[string]directory.SubAgent{"x": {Instructions: "x", Limits: directory.Limits{Cycles: -1}}}},
		"pinned": {SubAgents: map[string]directory.SubAgent{"x": {Version: 3}}},
	} {
		_, err := d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper", AgentSpec: spec}, "")
		want(t, name, err, event.ErrInvalid, "")
	}
	nan := math.NaN()
	for path, s := range map[string]directory.Settings{
		"effort": {Effort: "Hard"}, "top_p": {TopP: &nan}, "verbosity": {Verbosity: "x"}, "service_tier": {ServiceTier: "\x00"},
		"server_tools[0].kind":    {ServerTools: []directory.ServerTool{{Kind: "mcp"}}},
		"server_tools[0].stores":  {ServerTools: []directory.ServerTool{{Kind: directory.FileSearch}}},
		"server_tools[0].domains": {ServerTools: []directory.ServerTool{{Kind: directory.WebSearch, Domains: slices.Repeat([]string{"x"}, 101)}}},
	} {
		_, err := d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper", AgentSpec: directory.AgentSpec{Settings: s}}, "")
		says(t, "an agent's "+path, err, event.ErrInvalid, "SETTING_INVALID", path+": ")
		m := model("acme", "big")
		m.Settings = s
		_, err = d.CreateModel(ctx, of("acme"), m, "")
		says(t, "a model's "+path, err, event.ErrInvalid, "SETTING_INVALID", path+": ")
	}
	_, err := d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper", AgentSpec: directory.AgentSpec{Context: "x"}}, "")
	says(t, "a context", err, event.ErrInvalid, "SETTING_INVALID", "context: ")
	for path, p := range map[string]directory.Policy{
		"policy.server_tools":     {ServerTools: slices.Repeat([]string{directory.WebSearch}, 4)},
		"policy.server_tools[0]":  {ServerTools: []string{directory.FileSearch}},
		"policy.service_tiers":    {ServiceTiers: slices.Repeat([]string{"flex"}, 17)},
		"policy.service_tiers[1]": {ServiceTiers: []string{"flex", "A b"}},
	} {
		_, err := d.CreateTenant(ctx, Operator(), directory.Tenant{ID: "x", Policy: p}, "")
		says(t, path, err, event.ErrInvalid, "SETTING_INVALID", path+": ")
	}
	for name, change := range map[string]func(m *directory.Model){
		"provider": func(m *directory.Model) { m.Provider = "" }, "name": func(m *directory.Model) { m.Name = "" },
		"alias": func(m *directory.Model) { m.Aliases = []string{"A b"} }, "two": func(m *directory.Model) {
			m.Credential = directory.Credential{Env: "X", Secret: secret.New("y")}
		},
		"variable": func(m *directory.Model) { m.Credential.Env = "A=B" },
	} {
		m := model("acme", "big")
		change(&m)
		_, err := d.CreateModel(ctx, Operator(), m, "")
		want(t, name, err, event.ErrInvalid, "")
	}
	for name, k := range map[string]directory.Key{
		"no scopes": {}, "a scope that is none": {Scopes: []directory.Scope{"root"}},
		"expired": {Scopes: []directory.Scope{"read"}, Expires: time.Now().Add(-time.Second)},
	} {
		k.Tenant = "acme"
		_, _, err := d.CreateKey(ctx, of("acme"), k, "")
		want(t, name, err, event.ErrInvalid, "")
	}
	// What is refused leaves nothing behind.
	v := must[directory.Verified](t)(d.VerifyAudit(ctx, "acme"))
	if v.Entries != 1 {
		t.Errorf("the audit is %+v", v)
	}
}
