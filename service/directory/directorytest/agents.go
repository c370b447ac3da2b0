package directorytest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func agents(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	must[directory.Model](t)(d.CreateModel(ctx, Operator(), model("", "sonnet"), ""))
	uploaded(t, d, of("acme"), "maths", content("maths"))
	first := must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{
		Tenant: "acme", ID: "helper", AgentSpec: directory.AgentSpec{
			Name: "Helper", Instructions: "Help.", Model: "sonnet", Tools: []string{}, Skills: []string{"maths"},
			SubAgents: map[string]directory.SubAgent{"researcher": {Description: "finds", Instructions: "Find.", Tools: []string{"web_*"}}},
		},
	}, ""))
	if first.Version != 1 || first.Newest != 1 || first.Status != directory.Active {
		t.Errorf("made as %+v", first)
	}
	if diff := cmp.Diff(first, must[directory.Agent](t)(d.Agent(ctx, "acme", "helper", 0))); diff != "" {
		t.Error(diff)
	}
	second := must[directory.Agent](t)(d.UpdateAgent(ctx, of("acme"), "acme", "helper", 1, func(a *directory.Agent) error {
		a.Instructions, a.Version = "Help more.", 9
		return nil
	}))
	if second.Version != 2 || second.Newest != 2 || second.Revision != 2 {
		t.Errorf("changed to %+v", second)
	}
	// What a version says stays, whatever becomes of the agent.
	got := must[directory.Agent](t)(d.Agent(ctx, "acme", "helper", 1))
	if diff := cmp.Diff(first.AgentSpec, got.AgentSpec); diff != "" || got.Version != 1 || got.Newest != 2 {
		t.Errorf("the first version is %+v\n%s", got, diff)
	}
	if got := must[directory.Agent](t)(d.Agent(ctx, "acme", "helper", 0)); got.Instructions != "Help more." {
		t.Errorf("the newest version is %+v", got)
	}
	idle := must[directory.Agent](t)(d.UpdateAgent(ctx, of("acme"), "acme", "helper", 0, func(a *directory.Agent) error {
		a.Status = directory.Inactive
		return nil
	}))
	if idle.Version != 2 || idle.Revision != 3 {
		t.Errorf("another status made a version: %+v", idle)
	}
	for _, version := range []int{0, 1, 2} {
		_, err := d.Agent(ctx, "acme", "helper", version)
		want(t, "one that is not active", err, event.ErrConflict, "AGENT_INACTIVE")
	}
	for _, c := range []struct {
		tenant, id string
		version    int
	}{{"acme", "nobody", 0}, {"acme", "helper", 3}, {"acme", "helper", -1}, {"nobody", "helper", 0}, {"", "helper", 0}, {"acme", "", 0}} {
		_, err := d.Agent(ctx, c.tenant, c.id, c.version)
		want(t, fmt.Sprint(c), err, event.ErrNotFound, "AGENT_NOT_FOUND")
	}
	_, err := d.CreateAgent(ctx, of("acme"), directory.Agent{Tenant: "acme", ID: "helper"}, "")
	want(t, "made twice", err, event.ErrConflict, "AGENT_EXISTS")
	_, err = d.CreateAgent(ctx, Operator(), directory.Agent{Tenant: "nobody", ID: "helper"}, "")
	want(t, "made for nobody", err, event.ErrNotFound, "TENANT_NOT_FOUND")

	var seen []int
	q := directory.Query{Limit: 1}
	for {
		list, next, err := d.ListAgentVersions(ctx, "acme", "helper", q)
		done(t, err)
		for _, v := range list {
			seen = append(seen, v.Version)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(seen, []int{2, 1}) {
		t.Errorf("the versions are %v", seen)
	}
	_, _, err = d.ListAgentVersions(ctx, "acme", "nobody", directory.Query{})
	want(t, "versions of nobody", err, event.ErrNotFound, "AGENT_NOT_FOUND")
}
