package service

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// ExecutionContext is the environment of a run: who asked for it, in which conversation and turn,
// for which tenant, with which agent. The service makes and verifies it when the run is requested,
// and again when the run is driven, because a tenant may be deactivated in between.
type ExecutionContext struct {
	Principal    Principal
	Conversation string
	// ConversationLife distinguishes conversations that reuse this id. Data of a conversation
	// outside its log is kept by its id and its life.
	ConversationLife string
	// Run is the run's id. It is empty until the run is accepted.
	Run string
	// Turn is the run's turn. It is 0 until the run is accepted.
	Turn int
	// SessionID is the run's session. It is empty until the run begins.
	SessionID string
	// Executor is the caller's label for logs and usage. It is never an identity.
	Executor string

	// Tenant is the run's tenant. Without a directory only its ID is set.
	Tenant directory.Tenant
	// Agent is the agent that answers, in the version that the conversation is pinned to. The zero
	// Agent is the server's own.
	Agent directory.Agent
	// Model is the model that the request names. Empty means the agent's.
	Model string
	// Skills are the skills that the request prefers.
	Skills []string
	// Limits are the limits of the request and the service.
	Limits       braid.Limits
	OutputSchema json.RawMessage
	// Tokens exist only in memory: if another process continues the run, there are none.
	Tokens map[string]secret.Secret
	// Shown are the names of the tokens that are not secret.
	Shown []string
	// Accepted reports that the run was accepted before. What it lacks then does not refuse it.
	Accepted bool
}

// Key returns the key of the conversation.
func (x *ExecutionContext) Key() ConversationKey {
	return ConversationKey{x.Principal.Tenant, x.Conversation, x.ConversationLife}
}

// contextOf returns the context that a run's row describes.
func (s *Service) contextOf(row *journal.Run) *ExecutionContext {
	x := &ExecutionContext{
		Principal: Principal{Tenant: row.Tenant, User: row.User}, Conversation: row.Conversation, Run: row.ID, Turn: row.Turn,
		SessionID: event.SessionID(row.Conversation, row.Session), Executor: row.Executor,
		ConversationLife: row.Metadata[keyLife],
		Tenant:           directory.Tenant{ID: row.Tenant}, Model: row.Metadata[keyModel], Limits: s.limitsOf(row),
	}
	held := s.tokens.get(row.ID)
	x.Tokens, x.Shown = held.values, held.shown
	if raw := row.Metadata[keySchema]; raw != "" {
		x.OutputSchema = json.RawMessage(raw)
	}
	if raw := row.Metadata[keySkills]; raw != "" {
		_ = json.Unmarshal([]byte(raw), &x.Skills)
	}
	return x
}

// verify finds the tenant and the agent that pick selects, and checks that both are active. If pick
// selects none, x.Agent is the server's own.
func (s *Service) verify(ctx context.Context, x *ExecutionContext, pick func(t *directory.Tenant) (agent string, version int)) error {
	d := s.options.Directory
	if d == nil {
		return nil
	}
	var err error
	if x.Tenant, err = d.Tenant(ctx, x.Principal.Tenant); err != nil {
		return err
	}
	x.Agent = directory.Agent{}
	if id, version := pick(&x.Tenant); id != "" {
		x.Agent, err = d.Agent(ctx, x.Tenant.ID, id, version)
	}
	return err
}

// pick returns the agent that the conversation is pinned to, or else the tenant's default.
func (r *Row) pick(t *directory.Tenant) (agent string, version int) {
	if r.Agent != "" {
		return r.Agent, r.AgentVersion
	}
	return t.Agent, 0
}

// choose pins a new conversation to the named agent, or else to its tenant's default, in its
// current version. Pinning it here is written with the conversation; the first run would need one
// more commit before its first output. If the tenant's default is not usable now, the first run
// pins one.
func (s *Service) choose(ctx context.Context, op string, row *Row, named string) error {
	d := s.options.Directory
	switch {
	case d == nil && named != "":
		return &event.Error{
			Op: op, Kind: event.ErrNotFound, Code: "AGENT_NOT_FOUND", Message: "there is no such agent",
			Hint: "leave it out: this service has one agent",
		}
	case d == nil:
		return nil
	}
	id := named
	if id == "" {
		t, err := d.Tenant(ctx, row.Tenant)
		if err != nil || t.Agent == "" {
			return nil //nolint:nilerr // the first run reports it
		}
		id = t.Agent
	}
	a, err := d.Agent(ctx, row.Tenant, id, 0)
	switch {
	case err == nil:
		row.Agent, row.AgentVersion = a.ID, a.Version
	case named != "":
		return err
	}
	return nil
}

// pin pins a conversation without an agent to the agent that answers its first run. It returns
// false if another request has pinned another agent first: row then has that one.
func (s *Service) pin(ctx context.Context, x *ExecutionContext, row *Row) (bool, error) {
	if row.Agent != "" || x.Agent.ID == "" {
		return true, nil
	}
	pinned, err := s.change(ctx, row.Key(), func(row *Row) error {
		if row.Agent == "" {
			row.Agent, row.AgentVersion = x.Agent.ID, x.Agent.Version
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	s.changes.Add(1)
	*row = pinned
	return row.Agent == x.Agent.ID && row.AgentVersion == x.Agent.Version, nil
}

// unpinTime bounds how long undoing a refused request takes.
const unpinTime = 5 * time.Second

// unpin undoes the pin of a conversation's first request after that was refused. If a run was
// admitted meanwhile it was built with the pinned agent, and the pin stays.
func (s *Service) unpin(ctx context.Context, x *ExecutionContext, made *Row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpinTime)
	defer cancel()
	defer s.locks.lock(made.ID)()
	none := func() bool {
		runs, err := s.options.Journal.Runs(ctx, made.ID, 0, 1)
		return err == nil && len(runs) == 0
	}
	if !none() {
		return
	}
	row, err := s.change(ctx, made.Key(), func(row *Row) error {
		if row.Agent == x.Agent.ID && row.AgentVersion == x.Agent.Version {
			row.Agent, row.AgentVersion = "", 0
		}
		return nil
	})
	if err != nil {
		return // it is pinned to its own choice
	}
	s.changes.Add(1)
	if !none() { // another process has admitted one
		_, _ = s.pin(ctx, x, &row)
	}
}

// pinnedIn writes the agent of a run into its metadata.
func pinnedIn(metadata map[string]string, a *directory.Agent) {
	if a.ID != "" {
		metadata[keyAgent] = a.ID + "@" + strconv.Itoa(a.Version)
	}
}

func pinnedOf(metadata map[string]string) (agent string, version int) {
	agent, number, _ := strings.Cut(metadata[keyAgent], "@")
	version, _ = strconv.Atoi(number) // 0 if there is none
	return agent, version
}
