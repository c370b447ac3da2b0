package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// An agent gets the servers that it may use. A token that a new run lacks refuses it; a run that was accepted before goes on
// without the server, because tokens end with the process that accepted it.
func TestMCPServersOfAnAgent(t *testing.T) {
	t.Parallel()
	d := directory.New(directory.Options{Database: databasetest.OpenMemory(t)})
	t.Cleanup(func() { _ = d.Close() })
	ctx, operator := t.Context(), directory.By{Operator: true}
	if _, err := d.CreateTenant(ctx, operator, directory.Tenant{ID: "acme"}, ""); err != nil {
		t.Fatal(err)
	}
	for id, status := range map[string]directory.Status{"crm": directory.Active, "open": directory.Active, "old": directory.Inactive} {
		s := directory.MCPServer{Tenant: "acme", ID: id, Status: status, MCPServerSpec: directory.MCPServerSpec{Type: directory.MCPHTTP, URL: "https://mcp.example/"}}
		if id == "crm" {
			s.Headers = map[string]string{"Authorization": "Bearer ${crm}"}
		}
		if _, err := d.CreateMCPServer(ctx, operator, s, directory.MCPServerInput{}, ""); err != nil {
			t.Fatal(err)
		}
	}
	b := service.OptionsBuilder{Directory: d}
	tokens := map[string]secret.Secret{"crm": secret.New("canary-token")}
	build := func(spec directory.AgentSpec, tokens map[string]secret.Secret, accepted bool) ([]directory.ResolvedMCPServer, error) {
		r, err := b.Build(ctx, &service.ExecutionContext{
			Principal: service.Principal{Tenant: "acme"}, Tenant: directory.Tenant{ID: "acme"}, Agent: directory.Agent{AgentSpec: spec}, Tokens: tokens, Accepted: accepted,
		})
		return r.MCPServers, err
	}
	for name, c := range map[string]struct {
		spec directory.AgentSpec
		want []string
	}{
		"all":                  {directory.AgentSpec{}, []string{"crm", "open"}},
		"none":                 {directory.AgentSpec{MCPServers: []string{}}, nil},
		"named":                {directory.AgentSpec{MCPServers: []string{"open"}}, []string{"open"}},
		"named, not there":     {directory.AgentSpec{MCPServers: []string{"open", "old", "gone"}}, []string{"!old", "open", "!gone"}},
		"tools of one":         {directory.AgentSpec{Tools: []string{"clock", "crm___get_*"}}, []string{"crm"}},
		"tools of any":         {directory.AgentSpec{Tools: []string{"*_find"}}, []string{"crm", "open"}},
		"tools of none":        {directory.AgentSpec{Tools: []string{"clock", "crmx*", "[d-n]*___x"}}, nil},
		"no tools, but a name": {directory.AgentSpec{Tools: []string{"clock"}, MCPServers: []string{"open"}}, []string{"open"}},
	} {
		list, err := build(c.spec, tokens, false)
		var got []string
		for i := range list {
			mark := ""
			if list[i].Err != nil {
				mark = "!"
			}
			got = append(got, mark+list[i].Server.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
	}
	_, err := build(directory.AgentSpec{}, nil, false)
	var e *event.Error
	if !errors.As(err, &e) || e.Code != directory.TokenMissing || !strings.Contains(e.Message, `"crm"`) {
		t.Errorf("a new run without its token: %v", err)
	}
	list, err := build(directory.AgentSpec{}, nil, true)
	if err != nil || len(list) != 2 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "end with the process that accepted it") || list[1].Err != nil {
		t.Errorf("an accepted run without its token: %+v %v", list, err)
	}
}
