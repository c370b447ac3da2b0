package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire/native"
)

// office is a server that can be administered, as the one with the token sees it.
func office(t *testing.T) (admin client.Admin, as func(token secret.Secret) *client.Client) {
	t.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	people := directory.New(directory.Options{Database: db})
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: service.NewRows(db), Directory: people,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("counter", counter{}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.New(server.Options{Service: svc, Directory: people, Token: secret.New(token), Tenant: "default"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := errors.Join(svc.Drain(context.Background()), people.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	as = func(token secret.Secret) *client.Client {
		c, err := client.New(s.URL, token, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return as(secret.New(token)).Admin(), as
}

// gather reads a list to its end.
func gather[T any](t *testing.T, list iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for v, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	admin, as := office(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"acme", "beta", "gamma"} {
		_, err := admin.CreateTenant(ctx, id, client.TenantSpec{Name: strings.ToUpper(id), Limits: client.Bounds{Cycles: 9, CostUSD: "0.5"}})
		must(err)
	}
	if list := gather(t, admin.Tenants(ctx, client.ListOptions{Page: 2, Sort: "-created_at"})); len(list) != 3 || list[2].Name != "ACME" {
		t.Errorf("the tenants are %+v", list)
	}
	tenant, err := admin.UpdateTenant(ctx, "acme", 1, client.Patch{"name": nil, "limits": client.Patch{"max_turns": 5}})
	must(err)
	if tenant.Name != "" || tenant.Limits.Cycles != 5 || tenant.Limits.CostUSD == "" || tenant.Revision != 2 {
		t.Errorf("the tenant is %+v", tenant)
	}
	if _, err := admin.UpdateTenant(ctx, "acme", 1, client.Patch{"name": "late"}); !errors.Is(err, event.ErrConflict) {
		t.Errorf("a change that is late: %v", err)
	}
	if again, err := admin.Tenant(ctx, "acme"); err != nil || again.Revision != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = admin.CreateModel(ctx, "", client.NewModel{ID: "small", Provider: "demo", Name: "assistant", Prices: client.Prices{Input: "3"}, Env: "SOME_KEY"})
	must(err)
	model, err := admin.UpdateModel(ctx, "", "small", 1, client.Patch{"aliases": []string{"haiku"}})
	must(err)
	if model.Credential.Env != "SOME_KEY" || model.Aliases[0] != "haiku" || model.Prices.Input != "3.00" && model.Prices.Input != "3" {
		t.Errorf("the model is %+v", model)
	}
	if _, err := admin.CreateModel(ctx, "acme", client.NewModel{ID: "own", Provider: "demo", Name: "x", Key: secret.New("sk-x")}); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("a key for a server that cannot keep any: %v", err)
	}
	if list := gather(t, admin.Models(ctx, "acme", client.ListOptions{})); len(list) != 0 {
		t.Errorf("the tenant's models are %+v", list)
	}
	must(admin.DeleteModel(ctx, "", "small", 2))
	if _, err := admin.Model(ctx, "", "small"); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("a model that is gone: %v", err)
	}
	seed, show := int64(7), false
	set := client.Settings{
		Effort: "low", ShowThinking: &show, Seed: &seed,
		ServerTools: []client.ServerTool{{Kind: "web_search", MaxUses: 3, Blocked: []string{"x.example"}}, {Kind: "web_fetch", Domains: []string{"a.example"}}},
	}
	model, err = admin.CreateModel(ctx, "", client.NewModel{ID: "set", Provider: "demo", Name: "assistant", Settings: set})
	must(err)
	if !reflect.DeepEqual(model.Settings, set) {
		t.Errorf("the model's settings are %+v", model.Settings)
	}
	careful, err := admin.CreateAgent(ctx, "acme", "careful", client.AgentSpec{Settings: client.Settings{Effort: "high", ServerTools: []client.ServerTool{}}, Context: "none"})
	must(err)
	if careful.Effort != "high" || careful.ServerTools == nil || careful.Context != "none" {
		t.Errorf("the agent is %+v", careful.AgentSpec)
	}
	if _, err := admin.CreateAgent(ctx, "acme", "wrong", client.AgentSpec{Settings: client.Settings{Verbosity: "x"}}); native.CodeSettingInvalid != codeOf(err) {
		t.Errorf("a verbosity that is none: %v", err)
	}
	agent, err := admin.CreateAgent(ctx, "acme", "helper", client.AgentSpec{Instructions: "One.", Tools: []string{}})
	must(err)
	if agent.Tools == nil {
		t.Error("an agent without tools has all of them")
	}
	_, err = admin.UpdateAgent(ctx, "acme", "helper", 0, client.Patch{"instructions": "Two."})
	must(err)
	if one, err := admin.Agent(ctx, "acme", "helper", 1); err != nil || one.Instructions != "One." || one.Newest != 2 {
		t.Errorf("%+v, %v", one, err)
	}
	if list := gather(t, admin.AgentVersions(ctx, "acme", "helper")); len(list) != 2 || list[0].Instructions != "Two." {
		t.Errorf("the versions are %+v", list)
	}
	if list := gather(t, admin.Agents(ctx, "acme", client.ListOptions{Status: client.Inactive})); len(list) != 0 {
		t.Errorf("the inactive agents are %+v", list)
	}
	key, token, err := admin.CreateKey(ctx, "acme", client.NewKey{Scopes: []string{"read", "write"}, ExpiresAt: time.Now().Add(time.Hour)})
	must(err)
	theirs := as(token)
	_, err = theirs.Create(ctx, client.NewConversation{Title: "Ours"})
	must(err)
	if list := gather(t, admin.Conversations(ctx, "acme", client.Filter{})); len(list) != 1 || list[0].Title != "Ours" {
		t.Errorf("the conversations are %+v", list)
	}
	if _, err := theirs.Admin().Tenant(ctx, "acme"); !errors.Is(err, event.ErrPermission) {
		t.Errorf("a key that is not for it: %v", err)
	}
	if k, err := admin.RevokeKey(ctx, "acme", key.ID); err != nil || k.RevokedAt.IsZero() {
		t.Errorf("%+v, %v", k, err)
	}
	if _, err := theirs.Create(ctx, client.NewConversation{}); !errors.Is(err, event.ErrUnauthenticated) {
		t.Errorf("a key that was revoked: %v", err)
	}
	if list := gather(t, admin.Keys(ctx, "acme", client.ListOptions{})); len(list) != 1 {
		t.Errorf("the keys are %+v", list)
	}
	if list := gather(t, admin.Audit(ctx, "acme", client.AuditOptions{Object: "agent/helper", Page: 1})); len(list) != 2 || list[0].Action != "agent.update" {
		t.Errorf("the audit is %+v", list)
	}
	if v, err := admin.VerifyAudit(ctx, "acme"); err != nil || v.Broken != 0 || v.Entries != 8 { // the last one is that the conversations were read
		t.Errorf("%+v, %v", v, err)
	}
	for _, id := range []string{"", "..", "a/b", "a b", "ä"} {
		if _, err := admin.Agent(ctx, "acme", id, 0); id != "" && !errors.Is(err, event.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// same says what one side's JSON has and the other's cannot hold.
func same[Ours any](t *testing.T, theirs any) {
	t.Helper()
	raw, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var ours Ours
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&ours); err != nil {
		t.Fatalf("%T: %v", theirs, err)
	}
	back, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(raw, &want), json.Unmarshal(back, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%T: %s", theirs, diff)
	}
}

// What the directory tells the client's types can hold, all of it.
func TestAdminTypesHoldAll(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 7, 0, 0, 1000, time.UTC)
	permissions := directory.Permissions{Allow: []string{"a"}, Ask: []string{"b"}, Deny: []string{"c"}}
	limits := directory.Limits{Cycles: 1, ToolCalls: 2, InputTokens: 3, OutputTokens: 4, TotalTokens: 5, Cost: 6e8, Seconds: 7}
	same[client.Tenant](t, directory.Tenant{
		ID: "a", Name: "b", Status: directory.Active, SystemPrompt: "c", Agent: "d", Model: "e", Limits: limits,
		Policy:    directory.Policy{Permissions: permissions, Models: []string{"f"}},
		Retention: directory.Retention{Conversations: 1}, Revision: 5, Created: now, Updated: now,
	})
	spec := directory.AgentSpec{
		Name: "a", Description: "b", Instructions: "c", Model: "d", Tools: []string{}, Permissions: permissions, Limits: limits, Skills: []string{"e"},
		SubAgents: map[string]directory.SubAgent{"f": {Agent: "g", Version: 1, Description: "h", Model: "i", Instructions: "j", Tools: []string{"k"}}},
	}
	same[client.Agent](t, directory.Agent{
		Tenant: "a", ID: "b", Status: directory.Inactive, Version: 1, Newest: 2, AgentSpec: spec, Revision: 3, Created: now, Updated: now,
	})
	same[client.AgentVersion](t, directory.AgentVersion{Version: 1, Created: now, AgentSpec: spec})
	same[client.APIKey](t, directory.Key{
		Tenant: "a", ID: "b", Name: "c", User: "d", Scopes: directory.Scopes(), Expires: now, Revoked: now, LastUsed: now, Revision: 1, Created: now, Updated: now,
	})
	same[client.AuditEntry](t, directory.Entry{
		Tenant: "a", Seq: 1, Time: now, By: directory.By{Tenant: "b", Key: "c", User: "d", Operator: true}, Action: "e", Object: "f",
		Detail: json.RawMessage(`{"g":1}`), Hash: []byte("h"),
	})
	same[client.Erased](t, directory.Erased{Conversations: 1, Agents: 2, Models: 3, Keys: 4, AuditEntries: 5, AuditHead: []byte("a")})
	same[client.Verified](t, directory.Verified{Entries: 1, Broken: 2, Head: []byte("a"), Erased: []directory.Erasure{{
		Tenant: "b", Time: now, Entries: 3, Head: []byte("c"),
	}}})
	model := directory.Model{
		Tenant: "a", ID: "b", Status: directory.Active, Provider: "c", Name: "d", Region: "e", Aliases: []string{"f"},
		Credential: directory.Credential{Env: "g", Ends: "h"}, Revision: 1, Created: now, Updated: now,
	}
	for _, rate := range []interface{ UnmarshalText([]byte) error }{&model.Prices.Input, &model.Prices.Output, &model.Prices.CacheRead, &model.Prices.CacheWrite} {
		if err := rate.UnmarshalText([]byte("3.75")); err != nil {
			t.Fatal(err)
		}
	}
	same[client.TenantModel](t, model)
}

func codeOf(err error) string {
	e, _ := errors.AsType[*event.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}
