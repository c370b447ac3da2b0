package directorytest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// says wants an error of a kind and a code whose message and hint contain the texts.
func says(t *testing.T, what string, err error, kind event.ErrorKind, code string, texts ...string) {
	t.Helper()
	want(t, what, err, kind, code)
	var e *event.Error
	if !errors.As(err, &e) {
		return
	}
	for _, text := range texts {
		if !strings.Contains(e.Message+" | "+e.Hint, text) {
			t.Errorf("%s: %q with the hint %q does not say %q", what, e.Message, e.Hint, text)
		}
	}
}

// writer writes the entries of one tenant.
type writer struct {
	h      Harness
	tenant string
}

func (w writer) change(t *testing.T, change func(x *directory.Tenant)) error {
	t.Helper()
	return second(w.h.Directory.UpdateTenant(t.Context(), Operator(), w.tenant, 0, func(x *directory.Tenant) error {
		change(x)
		return nil
	}))
}

func (w writer) agent(t *testing.T, id string, spec directory.AgentSpec) error {
	t.Helper()
	_, err := w.h.Directory.CreateAgent(t.Context(), of(w.tenant), directory.Agent{Tenant: w.tenant, ID: id, AgentSpec: spec}, "")
	if errors.Is(err, event.ErrConflict) {
		_, err = w.h.Directory.UpdateAgent(t.Context(), of(w.tenant), w.tenant, id, 0, func(a *directory.Agent) error {
			a.AgentSpec = spec
			return nil
		})
	}
	return err
}

func (w writer) model(t *testing.T, tenant, id string, aliases ...string) {
	t.Helper()
	m := model(tenant, id)
	m.Aliases = aliases
	must[directory.Model](t)(w.h.Directory.CreateModel(t.Context(), Operator(), m, ""))
}

// referred holds that a reference names what is there when it is written, that the error says which field it is and
// what the tenant has, and that nothing of another tenant is named or counts.
func referred(t *testing.T, h Harness) {
	acme, zeta := writer{h, "acme"}, writer{h, "zeta"}
	tenant(t, h.Directory, "acme")
	tenant(t, h.Directory, "zeta")
	acme.model(t, "", "shared", "common")
	acme.model(t, "acme", "own", "mine")
	zeta.model(t, "zeta", "foreign")
	done(t, acme.agent(t, "helper", directory.AgentSpec{}))
	done(t, zeta.agent(t, "stranger", directory.AgentSpec{}))
	sub := func(s directory.SubAgent) directory.AgentSpec {
		return directory.AgentSpec{SubAgents: map[string]directory.SubAgent{"below": s}}
	}
	for name, c := range map[string]struct {
		write func() error
		texts []string
	}{
		"default agent": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Agent = "nobody" })
		}, []string{"default_agent: ", `"nobody"`, "helper"}},
		"default agent of another tenant": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Agent = "stranger" })
		}, []string{"default_agent: ", "helper"}},
		"default agent of a new tenant": {func() error {
			return second(h.Directory.CreateTenant(t.Context(), Operator(), directory.Tenant{ID: "new", Agent: "helper"}, ""))
		}, []string{"default_agent: ", "create it first"}},
		"default model": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Model = "nothing" })
		}, []string{"default_model: ", "common, mine, own, shared"}},
		"default model of another tenant": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Model = "foreign" })
		}, []string{"default_model: "}},
		"default model of a new tenant": {func() error {
			return second(h.Directory.CreateTenant(t.Context(), Operator(), directory.Tenant{ID: "new", Model: "own"}, ""))
		}, []string{"default_model: ", "common, shared"}},
		"policy": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Policy.Models = []string{"shared", "nothing"} })
		}, []string{"policy.models[1]: ", "own:own, shared"}},
		"policy for an own model as the operator's": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Policy.Models = []string{"own"} })
		}, []string{"policy.models[0]: "}},
		"policy for an own model": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Policy.Models = []string{"own:shared"} })
		}, []string{"policy.models[0]: "}},
		"default model that the policy does not allow": {func() error {
			return acme.change(t, func(x *directory.Tenant) { x.Policy.Models, x.Model = []string{"shared"}, "own" })
		}, []string{"default_model: ", "policy"}},
		"model": {func() error { return acme.agent(t, "a", directory.AgentSpec{Model: "nothing"}) }, []string{"model: ", "own"}},
		"model, later": {func() error {
			return acme.agent(t, "helper", directory.AgentSpec{Model: "foreign"})
		}, []string{"model: "}},
		"sub-agent": {func() error {
			return acme.agent(t, "a", sub(directory.SubAgent{Agent: "nobody"}))
		}, []string{"sub_agents.below.agent: ", "helper"}},
		"sub-agent of another tenant": {func() error {
			return acme.agent(t, "helper", sub(directory.SubAgent{Agent: "stranger"}))
		}, []string{"sub_agents.below.agent: "}},
		"version of a sub-agent": {func() error {
			return acme.agent(t, "a", sub(directory.SubAgent{Agent: "helper", Version: 7}))
		}, []string{"sub_agents.below.agent: ", "version 7", "1 to 1"}},
		"model of a sub-agent": {func() error {
			return acme.agent(t, "a", sub(directory.SubAgent{Instructions: "x", Model: "nothing"}))
		}, []string{"sub_agents.below.model: "}},
		"a long name": {func() error {
			return acme.agent(t, "a", directory.AgentSpec{Model: strings.Repeat("x", 250)})
		}, []string{"model: "}},
	} {
		err := c.write()
		says(t, name, err, event.ErrInvalid, "REFERENCE_UNKNOWN", c.texts...)
		var e *event.Error
		if errors.As(err, &e) && (strings.Contains(e.Hint, "foreign") || strings.Contains(e.Hint, "stranger") || len(e.Message) > 300) {
			t.Errorf("%s: it says too much: %v", name, e)
		}
	}
	_, err := h.Directory.GetTenant(t.Context(), "new")
	want(t, "a tenant that was refused", err, event.ErrNotFound, "TENANT_NOT_FOUND")
	_, err = h.Directory.GetAgent(t.Context(), "acme", "a", 0)
	want(t, "an agent that was refused", err, event.ErrNotFound, "AGENT_NOT_FOUND")

	done(t, acme.agent(t, "above", directory.AgentSpec{Model: "mine", SubAgents: map[string]directory.SubAgent{
		"one": {Agent: "helper", Version: 1, Model: "common"}, "two": {Instructions: "x", Model: "own"},
	}}))
	done(t, acme.change(t, func(x *directory.Tenant) {
		x.Agent, x.Model, x.Policy.Models = "above", "common", []string{"shared", "own:own", "own:*"}
	}))
	// In the tenant default a name that the directory does not have may mean what the server itself knows.
	tenant(t, h.Directory, directory.DefaultTenant)
	done(t, writer{h, directory.DefaultTenant}.change(t, func(x *directory.Tenant) { x.Model = "anthropic:claude-sonnet-5-5" }))
}

// inUse holds that a model, or a name of one, does not go while something refers to it, unless that is forced.
func inUse(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	acme, zeta := writer{h, "acme"}, writer{h, "zeta"}
	tenant(t, d, "acme")
	tenant(t, d, "zeta")
	acme.model(t, "", "shared", "common", "free")
	acme.model(t, "acme", "own", "mine")
	zeta.model(t, "zeta", "common")
	sub := func(model string) directory.AgentSpec {
		return directory.AgentSpec{SubAgents: map[string]directory.SubAgent{"below": {Instructions: "x", Model: model}}}
	}
	done(t, acme.agent(t, "first", directory.AgentSpec{Model: "mine"}))
	done(t, acme.agent(t, "second", sub("own")))
	done(t, acme.agent(t, "third", directory.AgentSpec{Model: "common"}))
	done(t, zeta.agent(t, "fourth", directory.AgentSpec{Model: "common"})) // which is zeta's own
	done(t, acme.change(t, func(x *directory.Tenant) { x.Model, x.Policy.Models = "own", []string{"own:own", "shared"} }))
	done(t, zeta.change(t, func(x *directory.Tenant) { x.Model = "shared" }))

	unnamed := func(m *directory.Model) error { m.Aliases = []string{"free"}; return nil }
	err := d.DeleteModel(ctx, of("acme"), "acme", "own", 0)
	says(t, "an own model", err, event.ErrConflict, "MODEL_IN_USE",
		"default_model, policy.models, model of the agent first, sub_agents.below.model of the agent second", "force")
	err = d.DeleteModel(ctx, Operator(), "", "shared", 0)
	says(t, "a shared model", err, event.ErrConflict, "MODEL_IN_USE",
		"policy.models of the tenant acme, model of the agent third of the tenant acme, default_model of the tenant zeta")
	var e *event.Error
	if errors.As(err, &e) && strings.Contains(e.Message, "fourth") {
		t.Errorf("what names the tenant's own model holds the shared one: %s", e.Message)
	}
	_, err = d.UpdateModel(ctx, Operator(), "", "shared", 0, unnamed)
	says(t, "an alias", err, event.ErrConflict, "MODEL_IN_USE", "model of the agent third of the tenant acme")
	if errors.As(err, &e) && strings.Contains(e.Message, "zeta") {
		t.Errorf("what uses other names of the model holds the alias: %s", e.Message)
	}
	if m := must[directory.Model](t)(d.Model(ctx, "acme", "common")); m.ID != "shared" || m.Revision != 1 {
		t.Errorf("what was refused is done: %+v", m)
	}

	// An older version of an agent holds nothing.
	done(t, acme.agent(t, "third", directory.AgentSpec{Model: "shared"}))
	must[directory.Model](t)(d.UpdateModel(ctx, Operator(), "", "shared", 0, unnamed))
	done(t, d.DeleteModel(ctx, Operator(), "", "shared", 0, directory.Force()))
	done(t, d.DeleteModel(ctx, of("acme"), "acme", "own", 0, directory.Force()))
	// What is left without a model can be changed otherwise.
	done(t, acme.change(t, func(x *directory.Tenant) { x.Name = "Acme" }))
	done(t, acme.agent(t, "second", directory.AgentSpec{Instructions: "x", SubAgents: sub("own").SubAgents}))
	says(t, "a name that has gone", acme.agent(t, "first", directory.AgentSpec{Model: "shared"}), event.ErrInvalid, "REFERENCE_UNKNOWN", "model: ")

	for i := range 20 {
		done(t, zeta.agent(t, fmt.Sprint("many-", i), directory.AgentSpec{Model: "common"}))
	}
	err = d.DeleteModel(ctx, of("zeta"), "zeta", "common", 0)
	says(t, "one that many use", err, event.ErrConflict, "MODEL_IN_USE", "and more")
	if errors.As(err, &e) && len(e.Message) > 500 {
		t.Errorf("%d bytes say who uses it", len(e.Message))
	}
}

// inUseAtOnce has a model deleted while an agent is written that names it: one of them is refused.
func inUseAtOnce(t *testing.T, h Harness) {
	tenant(t, h.Directory, "acme")
	acme := writer{h, "acme"}
	for n := range 10 {
		owner := []string{"acme", ""}[n%2]
		name := fmt.Sprint("model-", n)
		acme.model(t, owner, name)
		var work sync.WaitGroup
		var wrote, deleted error
		work.Go(func() { wrote = acme.agent(t, fmt.Sprint("agent-", n), directory.AgentSpec{Model: name}) })
		work.Go(func() { deleted = h.Directory.DeleteModel(t.Context(), Operator(), owner, name, 0) })
		work.Wait()
		if (wrote == nil) == (deleted == nil) {
			t.Errorf("of %q: the agent %v, the deletion %v", owner, wrote, deleted)
		}
	}
}
