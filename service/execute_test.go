package service_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

var operator = directory.By{Operator: true}

// people is a directory with the tenant acme in it.
func people(t *testing.T) *directory.Directory {
	t.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	d := directory.New(directory.Options{Database: db, References: directory.References{Skills: []string{"letter"}}, Environment: func(name string) string {
		return map[string]string{"KEY": "sk-operator"}[name]
	}})
	t.Cleanup(func() {
		_ = d.Close()
		_ = db.Close()
	})
	if _, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme"}, ""); err != nil {
		t.Fatal(err)
	}
	return d
}

func addModel(t *testing.T, d *directory.Directory, m directory.Model) {
	t.Helper()
	if _, err := d.CreateModel(t.Context(), operator, m, ""); err != nil {
		t.Fatal(err)
	}
}

func addAgent(t *testing.T, d *directory.Directory, id string, spec directory.AgentSpec) {
	t.Helper()
	if _, err := d.CreateAgent(t.Context(), operator, directory.Agent{Tenant: "acme", ID: id, AgentSpec: spec}, ""); err != nil {
		t.Fatal(err)
	}
}

func setAgent(t *testing.T, d *directory.Directory, id string, change func(*directory.Agent)) {
	t.Helper()
	if _, err := d.UpdateAgent(t.Context(), operator, "acme", id, 0, func(of *directory.Agent) error { change(of); return nil }); err != nil {
		t.Fatal(err)
	}
}

func setTenant(t *testing.T, d *directory.Directory, change func(*directory.Tenant)) {
	t.Helper()
	if _, err := d.UpdateTenant(t.Context(), operator, "acme", 0, func(of *directory.Tenant) error { change(of); return nil }); err != nil {
		t.Fatal(err)
	}
}

// tenants opens a service with a directory. Its agents answer as the parrot does, whatever their model.
func tenants(t *testing.T, d *directory.Directory, change func(*service.Options)) *house {
	t.Helper()
	return open(t, func(o *service.Options) {
		o.Directory = d
		agent := o.Agent
		o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
			made, err := agent(ctx, service.AgentRequest{AgentOptions: service.AgentOptions{Limits: r.Limits}})
			if r.ID != "" && err == nil {
				made = braid.New(r.ID, made.Model(), braid.Limit(r.Limits))
			}
			return made, err
		}
		if change != nil {
			change(o)
		}
	})
}

// What a request names must be there and active. Who is refused leaves no run, no lock, no token and
// no goroutine behind.
func TestRefusedBeforeAnythingBegins(t *testing.T) { //nolint:paralleltest // it counts goroutines
	d := people(t)
	addModel(t, d, directory.Model{ID: "off", Provider: "demo", Name: "tour", Status: directory.Inactive})
	addModel(t, d, directory.Model{Tenant: "acme", ID: "keyless", Provider: "anthropic", Name: "claude-x"})
	addModel(t, d, directory.Model{ID: "gone", Provider: "anthropic", Name: "claude-x", Credential: directory.Credential{Env: "NONE"}})
	addAgent(t, d, "idle", directory.AgentSpec{})
	h := tenants(t, d, func(o *service.Options) { o.LockWait = -1 })
	conv := h.conversation(t)
	kept, err := h.CreateConversation(t.Context(), ann, service.NewConversation{Agent: "idle"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.UpdateAgent(t.Context(), operator, "acme", "idle", 0, func(a *directory.Agent) error {
		a.Status = directory.Inactive
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, conv, code string
		kind             event.ErrorKind
		r                service.RunRequest
		who              service.Principal
	}{
		{"nothing said", conv, "", event.ErrInvalid, service.RunRequest{}, ann},
		{"no such policy", conv, "", event.ErrInvalid, service.RunRequest{Policy: "shout"}, ann},
		{"no such conversation", "conv_none", "CONVERSATION_NOT_FOUND", event.ErrNotFound, service.RunRequest{Input: "hi"}, ann},
		{"no such tenant", conv, "CONVERSATION_NOT_FOUND", event.ErrNotFound, service.RunRequest{Input: "hi"}, service.Principal{Tenant: "other"}},
		{"no such model", conv, "MODEL_NOT_FOUND", event.ErrModelNotFound, service.RunRequest{Input: "hi", Model: "x"}, ann},
		{"another provider's", conv, "MODEL_NOT_FOUND", event.ErrModelNotFound, service.RunRequest{Input: "hi", Model: "anthropic:claude-x"}, ann},
		{"a model that is off", conv, "MODEL_INACTIVE", event.ErrConflict, service.RunRequest{Input: "hi", Model: "off"}, ann},
		{"a model that nobody pays for", conv, "MODEL_NOT_FOUND", event.ErrModelNotFound, service.RunRequest{Input: "hi", Model: "keyless"}, ann},
		{"a model without its key", conv, "MODEL_NOT_FOUND", event.ErrModelNotFound, service.RunRequest{Input: "hi", Model: "gone"}, ann},
		{"an agent that is off", kept.ID, "AGENT_INACTIVE", event.ErrConflict, service.RunRequest{Input: "hi"}, ann},
	}
	before := runtime.NumGoroutine()
	for range 100 {
		for _, c := range cases {
			c.r.Tokens = map[string]secret.Secret{"t": secret.New("x")}
			c.r.Watch = true
			_, err := h.StartRun(t.Context(), c.who, c.conv, c.r)
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != c.kind || c.code != "" && e.Code != c.code {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
	}
	if _, err := h.CreateConversation(t.Context(), ann, service.NewConversation{Agent: "nobody"}); event.KindOf(err) != event.ErrNotFound {
		t.Errorf("a conversation of no agent: %v", err)
	}
	setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Inactive })
	_, err = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi"})
	var e *event.Error
	if !errors.As(err, &e) || e.Code != "TENANT_INACTIVE" || e.Kind != event.ErrPermission {
		t.Errorf("of an inactive tenant: %v", err)
	}
	setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Active })
	until(t, fmt.Sprintf("there are %d goroutines again", before), func() bool { return runtime.NumGoroutine() <= before })
	for _, id := range []string{conv, kept.ID} {
		if at, err := h.store.Position(t.Context(), id, 0); err != nil || at.Turns != 0 {
			t.Errorf("%d runs are left (%v)", at.Turns, err)
		}
	}
	if n, locks := h.HeldTokens(), h.HeldLocks(); n+locks != 0 {
		t.Errorf("%d tokens and %d locks are left", n, locks)
	}
	started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
	if err != nil || started.Run.Turn != 1 {
		t.Fatalf("the next run: %+v %v", started.Run, err)
	}
	until(t, "the run ends", func() bool {
		run, err := h.GetRun(t.Context(), ann, conv, started.Run.ID)
		return err == nil && run.Status.Ended()
	})
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

// Runs of a tenant that is switched off end: what runs or is queued is cancelled within seconds, and what goes on before that
// fails and says why.
func TestSwitchedOffMeanwhile(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"use sleep", "use ask"} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := people(t)
				h := tenants(t, d, nil)
				conv := h.conversation(t)
				start := func(input string) service.Started {
					t.Helper()
					s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input, Policy: braid.Queue})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				first, second := start(input), start("hello")
				synctest.Wait()
				setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Inactive })
				if input == "use ask" {
					questions, err := h.Questions(t.Context(), ann, conv)
					if err != nil || len(questions) != 1 {
						t.Fatalf("%v %v", questions, err)
					}
					if _, err := h.Answer(t.Context(), ann, conv, questions[0].Token, []byte("true")); err != nil {
						t.Fatal(err)
					}
					if end := h.wait(t, conv, first); end.Status != event.RunFailed || end.Err == nil || end.Err.Code != "TENANT_INACTIVE" {
						t.Errorf("the one that waited ended as %+v", end)
					}
					if end := h.wait(t, conv, second); end.Status != event.RunFailed || end.Err == nil || end.Err.Code != "TENANT_INACTIVE" {
						t.Errorf("the queued one ended as %+v", end)
					}
				} else {
					for what, s := range map[string]service.Started{"what had begun": first, "the queued one": second} {
						if end := h.wait(t, conv, s); end.Status != event.RunCancelled {
							t.Errorf("%s ended as %+v", what, end)
						}
					}
				}
				setTenant(t, d, func(of *directory.Tenant) { of.Status = directory.Active })
				if end := h.wait(t, conv, start("hello")); end.Status != event.RunCompleted {
					t.Errorf("the next one ended as %+v", end)
				}
			})
		})
	}
}

// The parts of the system prompt are in their order.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	files := &service.Workspace{
		Path: "the scratch folder", Instructions: "The tools list_files and read_file reach them, by their names.",
		Files: []service.WorkspaceFile{{Name: "notes.txt", Bytes: 12}, {Name: "a</workspace>\n\u202e\U000e0141\u3164b.txt", Bytes: 0}}, More: 3,
	}
	const want = `Acme speaks plainly.

You answer letters.

<workspace>
The files of this conversation are in the scratch folder. The tools list_files and read_file reach them, by their names.
- notes.txt (12 bytes)
- a_/workspace_b.txt (0 bytes)
and 3 more.
</workspace>`
	if diff := cmp.Diff(want, service.SystemPrompt("Acme speaks plainly.\n", "You answer letters.", files)); diff != "" {
		t.Error(diff)
	}
	if got := service.SystemPrompt("", " You answer letters. ", nil); got != "You answer letters." {
		t.Errorf("%q", got)
	}
	if got := service.SystemPrompt("", "", &service.Workspace{Path: "x"}); got != "<workspace>\nThe files of this conversation are in x.\nThere are none yet.\n</workspace>" {
		t.Errorf("%q", got)
	}
}

// A run has the least of all limits, the tenant's prompt, the agent's models by their aliases, and its
// sub-agents as tools.
func TestOptionsOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		addModel(t, d, directory.Model{ID: "big", Provider: "anthropic", Name: "claude-big", Aliases: []string{"sonnet"}})
		addModel(t, d, directory.Model{ID: "small", Provider: "anthropic", Name: "claude-shared", Aliases: []string{"haiku"}})
		addModel(t, d, directory.Model{
			Tenant: "acme", ID: "own", Provider: "bedrock", Name: "claude-own", Region: "eu-west-1", Aliases: []string{"haiku"},
			Credential: directory.Credential{Env: "KEY"},
		})
		addAgent(t, d, "reader", directory.AgentSpec{Description: "Reads.", Instructions: "Read.", Tools: []string{"read_*"}, Limits: directory.Limits{Cycles: 2}})
		addAgent(t, d, "clerk", directory.AgentSpec{
			Instructions: "Answer.", Model: "sonnet", Tools: []string{"get_*"}, Limits: directory.Limits{Cycles: 20, ToolCalls: 4},
			Permissions: directory.Permissions{Ask: []string{"*"}}, Skills: []string{"letter"},
			SubAgents: map[string]directory.SubAgent{
				"scout":  {Agent: "reader", Model: "haiku"},
				"critic": {Description: "Judges.", Instructions: "Judge."},
			},
		})
		setTenant(t, d, func(of *directory.Tenant) {
			of.SystemPrompt, of.Agent, of.Limits = "Acme's.", "clerk", directory.Limits{Cycles: 9, Seconds: 60, TotalTokens: 500}
			of.Policy.Permissions.Deny = []string{"delete_*"}
		})
		var mu sync.Mutex
		var got service.AgentRequest
		h := tenants(t, d, func(o *service.Options) {
			agent := o.Agent
			o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
				mu.Lock()
				defer mu.Unlock()
				got = r
				return agent(ctx, r)
			}
		})
		recorded := func() service.AgentRequest {
			mu.Lock()
			defer mu.Unlock()
			return got
		}
		c, err := h.CreateConversation(t.Context(), ann, service.NewConversation{Agent: "clerk"})
		if err != nil {
			t.Fatal(err)
		}
		conv := c.ID
		// The conversation keeps to a clerk who has the reader, and whom the reader has by now.
		for _, change := range []struct {
			agent string
			below map[string]directory.SubAgent
		}{{"clerk", nil}, {"reader", map[string]directory.SubAgent{"back": {Agent: "clerk"}}}} {
			if _, err := d.UpdateAgent(t.Context(), operator, "acme", change.agent, 0, func(a *directory.Agent) error {
				a.SubAgents = change.below
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi", Limits: service.RunLimits{ToolCalls: 3, Time: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		r := recorded()
		if r.ID != "clerk" || r.Version != 1 || r.SystemPrompt != "Acme's.\n\nAnswer." || r.Model != "anthropic:claude-big" || r.Own == nil {
			t.Errorf("%+v", r.AgentOptions)
		}
		if l := r.Limits; l.Cycles != 9 || l.AllCycles != 9 || l.ToolCalls != 3 || l.TotalTokens != 500 || l.Active != time.Minute {
			t.Errorf("the limits are %+v", l)
		}
		want := []directory.Permissions{{Deny: []string{"delete_*"}}, {Ask: []string{"*"}}}
		if diff := cmp.Diff(want, r.Permissions); diff != "" || !slices.Equal(r.Tools, []string{"get_*"}) || !slices.Equal(r.AgentOptions.Skills, []string{"letter"}) {
			t.Errorf("%s %v %v", diff, r.Tools, r.AgentOptions.Skills)
		}
		scout, critic := r.SubAgents["scout"], r.SubAgents["critic"]
		if len(r.SubAgents) != 2 || scout == nil || critic == nil {
			t.Fatalf("the sub-agents are %v", r.SubAgents)
		}
		if scout.Model != "bedrock:claude-own" || scout.Own.Key.Reveal() != "sk-operator" || scout.Own.Region != "eu-west-1" ||
			scout.ID != "reader" || scout.Description != "Reads." || scout.SystemPrompt != "Acme's.\n\nRead." || scout.Limits.Cycles != 2 || len(scout.SubAgents) != 0 {
			t.Errorf("the scout is %+v", scout)
		}
		if critic.Model != "anthropic:claude-big" || critic.Description != "Judges." || critic.Tools != nil {
			t.Errorf("the critic is %+v", critic)
		}
		for range 2 { // the policy names what may be used; what a request names goes before the agent's
			setTenant(t, d, func(of *directory.Tenant) { of.Policy.Models = []string{"own"} })
			if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi"}); event.KindOf(err) != event.ErrModelNotFound {
				t.Errorf("a model that the tenant may not use: %v", err)
			}
			setTenant(t, d, func(of *directory.Tenant) { of.Policy.Models = nil })
			s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi", Model: "haiku"})
			if err != nil {
				t.Fatal(err)
			}
			h.wait(t, conv, s)
			if r := recorded(); r.Model != "bedrock:claude-own" {
				t.Errorf("the model is %s", r.Model)
			}
		}
	})
}

// A conversation keeps to the version of its agent that there was when it was made. One that was made
// before its tenant had an agent that could answer keeps to the version that its first run met.
func TestPinnedAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		addAgent(t, d, "clerk", directory.AgentSpec{Instructions: "first"})
		var mu sync.Mutex
		told := map[string]string{}
		h := tenants(t, d, func(o *service.Options) {
			agent := o.Agent
			o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
				mu.Lock()
				defer mu.Unlock()
				told[r.Place.Conversation] = r.SystemPrompt
				return agent(ctx, r)
			}
		})
		first := h.conversation(t) // the tenant has chosen nobody
		setTenant(t, d, func(of *directory.Tenant) { of.Agent = "clerk" })
		setAgent(t, d, "clerk", func(a *directory.Agent) { a.Status = directory.Inactive })
		second := h.conversation(t) // whom it has chosen cannot answer
		setAgent(t, d, "clerk", func(a *directory.Agent) { a.Status = directory.Active })
		conv, unused := h.conversation(t), h.conversation(t)
		for id, want := range map[string]int{first: 0, second: 0, conv: 1, unused: 1} {
			if c, err := h.GetConversation(t.Context(), ann, id); err != nil || c.AgentVersion != want {
				t.Errorf("before any run: %+v, want version %d (%v)", c.Row, want, err)
			}
		}
		chosen, err := h.CreateConversation(t.Context(), ann, service.NewConversation{Agent: "clerk"})
		if err != nil || chosen.AgentVersion != 1 {
			t.Fatalf("%+v %v", chosen.Row, err)
		}
		run := h.say(t, conv, "hello")
		if run.Agent != "clerk" {
			t.Errorf("the run's agent is %q", run.Agent)
		}
		setAgent(t, d, "clerk", func(a *directory.Agent) { a.Instructions = "second" })
		for id, want := range map[string]int{conv: 1, unused: 1, chosen.ID: 1, first: 2, second: 2} {
			h.say(t, id, "hello")
			if c, err := h.GetConversation(t.Context(), ann, id); err != nil || c.Agent != "clerk" || c.AgentVersion != want {
				t.Errorf("%+v, want version %d (%v)", c.Row, want, err)
			}
			mu.Lock()
			if got := told[id]; got != []string{1: "first", 2: "second"}[want] {
				t.Errorf("the agent of version %d is told %q", want, got)
			}
			mu.Unlock()
		}
		fork, err := h.ForkConversation(t.Context(), ann, conv, 0)
		if err != nil || fork.AgentVersion != 1 {
			t.Errorf("%+v (%v)", fork.Row, err)
		}
	})
}

// noted are rows that count the changes of those who say so in their context.
type noted struct {
	service.Rows
	changes atomic.Int64
}

type counted struct{}

func (n *noted) Change(ctx context.Context, tenant, id string, change func(*service.Row) error) (service.Row, error) {
	if ctx.Value(counted{}) != nil {
		n.changes.Add(1)
	}
	return n.Rows.Change(ctx, tenant, id, change)
}

// A run that is accepted is one durable write, the journal's: who was the first to speak in a conversation
// would wait for the disk twice otherwise, and 500 who begin at once for a second and more.
func TestAFirstRunChangesNoRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		addAgent(t, d, "clerk", directory.AgentSpec{})
		rows := &noted{Rows: &service.MemoryRows{}}
		h := tenants(t, d, func(o *service.Options) { o.Rows = rows })
		before := h.conversation(t)
		setTenant(t, d, func(of *directory.Tenant) { of.Agent = "clerk" })
		ctx := context.WithValue(t.Context(), counted{}, true)
		for conv, want := range map[string]int64{h.conversation(t): 0, before: 1} {
			rows.changes.Store(0)
			s, err := h.StartRun(ctx, ann, conv, service.RunRequest{Input: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if got := rows.changes.Load(); got != want || s.Run.Agent != "clerk" {
				t.Errorf("the first run of %s changed the row %d times, want %d (%+v)", conv, got, want, s.Run)
			}
			h.wait(t, conv, s)
		}
	})
}

// An agent that is changed between two first requests of a conversation that keeps to none yet answers both
// in one version: who pins it second takes what is pinned, and looks anew.
func TestTwoFirstRequestsPinOneVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		addAgent(t, d, "clerk", directory.AgentSpec{Instructions: "first"})
		var between atomic.Bool
		var mu sync.Mutex
		told := map[string]string{} // the last time, by run
		var h *house
		var conv string
		var second service.Started
		ask := func(input string) service.Started {
			t.Helper()
			s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input, Policy: braid.Queue})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		h = tenants(t, d, func(o *service.Options) {
			agent := o.Agent
			o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
				if !between.Swap(true) { // the first request has chosen its version, and pinned nothing yet
					setAgent(t, d, "clerk", func(a *directory.Agent) { a.Instructions = "second" })
					second = ask("two")
				}
				mu.Lock()
				defer mu.Unlock()
				told[r.Place.Run] = r.SystemPrompt
				return agent(ctx, r)
			}
		})
		conv = h.conversation(t)
		setTenant(t, d, func(of *directory.Tenant) { of.Agent = "clerk" })
		first := ask("one")
		h.wait(t, conv, first)
		h.wait(t, conv, second)
		if c, err := h.GetConversation(t.Context(), ann, conv); err != nil || c.AgentVersion != 2 {
			t.Errorf("%+v, want version 2 (%v)", c.Row, err)
		}
		if told[first.Run.ID] != "second" || told[second.Run.ID] != "second" {
			t.Errorf("the runs were told %q", told)
		}
	})
}

// refusing is a journal that refuses the next admission; before that meanwhile happens.
type refusing struct {
	*journal.Memory

	meanwhile func()
}

func (r *refusing) Admit(ctx context.Context, run journal.Run) (journal.Run, error) {
	meanwhile := r.meanwhile
	if meanwhile == nil {
		return r.Memory.Admit(ctx, run)
	}
	r.meanwhile = nil
	meanwhile()
	return journal.Run{}, &event.Error{Kind: event.ErrOverloaded, Message: "no more"}
}

// unpinning counts how often a conversation is let go of by its agent; before the first time meanwhile happens.
type unpinning struct {
	*service.MemoryRows

	times     int
	meanwhile func()
}

func (u *unpinning) Change(ctx context.Context, tenant, id string, change func(*service.Row) error) (service.Row, error) {
	row, err := u.Get(ctx, tenant, id)
	had := row.Agent
	if err == nil {
		err = change(&row)
	}
	if err == nil && had != "" && row.Agent == "" {
		u.times++
		if meanwhile := u.meanwhile; meanwhile != nil {
			u.meanwhile = nil
			meanwhile()
		}
	}
	return u.MemoryRows.Change(ctx, tenant, id, change)
}

// A first request that is refused does not choose the agent's version: the first one that is let in does.
func TestARefusedFirstRequestPinsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// play has a first request refused, and others come in as they may.
		play func(t *testing.T, j *refusing, rows *unpinning, here, there *house, conv string)
		// want is the version that answers then, and let how often the agent was let go of.
		want, let int
	}{
		{"nobody else", func(t *testing.T, j *refusing, _ *unpinning, here, _ *house, conv string) {
			t.Helper()
			j.meanwhile = func() {}
			refused(t, here, conv)
		}, 2, 1},
		{"another process lets one in", func(t *testing.T, j *refusing, _ *unpinning, here, there *house, conv string) {
			t.Helper()
			j.meanwhile = func() { there.wait(t, conv, begin(t, there, conv, "hello")) }
			refused(t, here, conv)
		}, 1, 0},
		{"another process lets one in at the last moment", func(t *testing.T, j *refusing, rows *unpinning, here, there *house, conv string) {
			t.Helper()
			j.meanwhile = func() {}
			rows.meanwhile = func() { there.wait(t, conv, begin(t, there, conv, "hello")) }
			refused(t, here, conv)
		}, 1, 1},
		{"another one has seen what was pinned", func(t *testing.T, j *refusing, _ *unpinning, here, _ *house, conv string) {
			t.Helper()
			seen, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			j.meanwhile = func() {
				go func() {
					defer close(ended)
					here.second = func() { close(seen); <-over }
					here.wait(t, conv, begin(t, here, conv, "hello"))
				}()
				<-seen
			}
			refused(t, here, conv)
			close(over)
			<-ended
		}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := people(t)
				addAgent(t, d, "clerk", directory.AgentSpec{Instructions: "first"})
				j, rows := &refusing{Memory: &journal.Memory{}}, &unpinning{MemoryRows: &service.MemoryRows{}}
				var here *house
				here = tenants(t, d, func(o *service.Options) {
					agent := o.Agent
					o.Journal, o.Rows = j, rows
					o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
						if second := here.second; second != nil {
							here.second = nil
							second()
						}
						return agent(ctx, r)
					}
				})
				there := tenants(t, d, func(o *service.Options) { o.Journal, o.Rows = j.Memory, rows })
				conv := here.conversation(t)
				setTenant(t, d, func(of *directory.Tenant) { of.Agent = "clerk" }) // so that its first run has the choice
				c.play(t, j, rows, here, there, conv)
				if _, err := d.UpdateAgent(t.Context(), operator, "acme", "clerk", 0, func(a *directory.Agent) error {
					a.Instructions = "second"
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				here.say(t, conv, "hello")
				kept, err := here.GetConversation(t.Context(), ann, conv)
				if err != nil || kept.AgentVersion != c.want || rows.times != c.let {
					t.Errorf("it keeps to version %d, want %d; it was let go of %d times, want %d (%v)", kept.AgentVersion, c.want, rows.times, c.let, err)
				}
			})
		})
	}
}

// refused asks for a run that is refused.
func refused(t *testing.T, h *house, conv string) {
	t.Helper()
	_, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
	if !errors.Is(err, event.ErrOverloaded) {
		t.Fatalf("not refused: %v", err)
	}
}

// Fifty requests at once, at two processes: turns are 1 to n without gaps, and one run at a time.
func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []braid.Policy{braid.Queue, braid.Reject} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				two := others(t, 2, nil)
				conv := two[0].conversation(t)
				var mu sync.Mutex
				turns, refused := []int{}, 0
				var work sync.WaitGroup
				for i := range 50 {
					work.Go(func() {
						h := two[i%2]
						s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep", Policy: policy})
						mu.Lock()
						defer mu.Unlock()
						var e *event.Error
						switch {
						case err == nil:
							turns = append(turns, s.Run.Turn)
						case errors.As(err, &e) && e.Kind == event.ErrLocked && e.RetryAfter > 0:
							refused++
						default:
							t.Error(err)
						}
					})
				}
				work.Wait()
				slices.Sort(turns)
				for i, turn := range turns {
					if turn != i+1 {
						t.Fatalf("the turns are %v", turns)
					}
				}
				if policy == braid.Queue && len(turns) != 50 || policy == braid.Reject && (len(turns) != 1 || refused != 49) {
					t.Fatalf("%d were accepted and %d refused", len(turns), refused)
				}
				runs, err := two[0].ListRuns(t.Context(), ann, conv, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range runs {
					two[0].wait(t, conv, service.Started{Run: run})
				}
				wantOneAtATime(t, two[0], conv)
				// The lock is free.
				s, err := two[1].StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
				if err != nil || s.Run.Turn != len(turns)+1 {
					t.Errorf("the next turn is %d (%v)", s.Run.Turn, err)
				}
				two[1].wait(t, conv, s)
			})
		})
	}
}

// wantOneAtATime wants each run to end before the next one begins.
func wantOneAtATime(t *testing.T, h *house, conv string) {
	t.Helper()
	events, err := h.Events(t.Context(), ann, conv, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	open := ""
	for _, e := range events {
		switch e.Body.(type) {
		case *event.RunStarted:
			if open != "" {
				t.Fatalf("%s begins while %s runs", e.Run, open)
			}
			open = e.Run
		case *event.RunEnded:
			open = ""
		default:
			if e.Run != open {
				t.Fatalf("event %d is of %s while %s runs", e.Seq, e.Run, open)
			}
		}
	}
}

// A holder that dies, and one that stalls and comes back, hold a conversation no longer than their
// lease, and what the old holder does then is not in the log.
func TestHoldersThatDieAndComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		rows := &service.MemoryRows{}
		h := open(t, func(o *service.Options) {
			o.Journal, o.Rows = store, rows
			o.Engine.Sweep = time.Second
		})
		h.store = store
		conv := h.conversation(t)
		// Another process has begun a run and stalls.
		run, err := store.Admit(t.Context(), journal.Run{
			ID: "run_stalled", Conversation: conv, Tenant: "acme", Agent: "assistant", Metadata: map[string]string{"braid.body": "x"},
			Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hello"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		old, err := store.Acquire(t.Context(), run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi"}); !errors.Is(err, event.ErrLocked) {
			t.Fatalf("while it is held: %v", err)
		}
		if waited := time.Since(begun); waited != 5*time.Second {
			t.Errorf("it waited %v", waited)
		}
		second, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi", Policy: braid.Queue})
		if err != nil || second.Run.Turn != 2 {
			t.Fatalf("%+v %v", second.Run, err)
		}
		if end := h.wait(t, conv, service.Started{Run: run}); end.Status != event.RunCompleted {
			t.Errorf("the run of the dead ended as %+v", end)
		}
		if after := time.Since(begun); after < journal.DefaultTerm || after > journal.DefaultTerm+30*time.Second {
			t.Errorf("it was taken over after %v", after)
		}
		h.wait(t, conv, second)
		err = store.Commit(t.Context(), old.Lease, journal.Batch{Events: []*event.Event{{
			Header: event.Header{Seq: old.Last + 1, Conversation: conv, Run: run.ID}, Body: &event.Notice{Code: "late"},
		}}})
		if !errors.Is(err, event.ErrLeaseLost) {
			t.Errorf("the old holder writes: %v", err)
		}
		wantOneAtATime(t, h, conv)
	})
}

// The last event that a client sees is committed when he sees it: a run that is begun at once finds the
// lock free.
func TestTheLastEventComesAfterTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h *house
		ended := make(chan error, 1)
		h = open(t, func(o *service.Options) {
			o.LockWait = -1
			o.Observe = func(_, _ string, e *event.Event) {
				if _, ok := e.Body.(*event.RunEnded); ok && len(ended) == 0 {
					row, err := h.store.Runs(context.Background(), e.Conversation, 0, 0)
					if err == nil && !row[0].Status.Ended() {
						err = fmt.Errorf("the run is %s", row[0].Status)
					}
					ended <- err
				}
			}
		})
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello", Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Follower.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "again"}); err != nil || s.Run.Turn != 2 {
			t.Errorf("%+v %v", s.Run, err)
		}
	})
}
