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

// ExecutionContext is everything that a run needs to know of the world around it: who asked
// for it, in which conversation and turn, for which tenant, with which agent. It is made when a
// run is asked for, to check that all of it is there, and again each time that the run is
// driven: by then a tenant may have been switched off.
type ExecutionContext struct {
	Principal    Principal
	Conversation string
	// ConversationLife tells apart the conversations that have this id one after the other: what is kept of
	// one outside its log is kept by its id and its life.
	ConversationLife string
	// Run and Turn are the run's; they are empty and 0 before it is accepted.
	Run  string
	Turn int
	// SessionID is the session that the run has begun in; empty while it has not begun.
	SessionID string
	// Executor is the caller's label for logs and usage, never an identity.
	Executor string

	// Tenant is whose run it is. Of a service without a directory only its ID is set.
	Tenant directory.Tenant
	// Agent is the one that answers, in the version that the conversation keeps to. The
	// zero Agent is the server's own.
	Agent directory.Agent
	// Model is what the request names; empty means the agent's.
	Model string
	// Skills are those that the request prefers.
	Skills []string
	// Limits are what the request and the service allow.
	Limits       braid.Limits
	OutputSchema json.RawMessage
	// Tokens are in memory only: a run that another process goes on with has none. Shown are the names of those that
	// are no secrets.
	Tokens map[string]secret.Secret
	Shown  []string
}

// Key is the conversation's.
func (x *ExecutionContext) Key() ConversationKey {
	return ConversationKey{x.Principal.Tenant, x.Conversation, x.ConversationLife}
}

// contextOf reads of a run's row what stands in it.
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

// verify finds the tenant, and the agent that pick chooses, and sees that both are active. Of no
// agent it leaves the server's own.
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

// pick chooses what the conversation keeps to, or else the tenant's choice.
func (r *Row) pick(t *directory.Tenant) (agent string, version int) {
	if r.Agent != "" {
		return r.Agent, r.AgentVersion
	}
	return t.Agent, 0
}

// choose has a new conversation keep to the agent that is named, or else to its tenant's, in the
// version that it has now. That is written with the conversation: noted by the first run, it would be one
// more wait for the disk before anybody hears a word. A tenant's that cannot answer now is left to that run.
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
			return nil //nolint:nilerr // the first run says so
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

// pin has a conversation that keeps to no agent yet keep to the version of the one that answers its
// first run. It reports false where another request was faster and has pinned another one: row then says
// which.
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

// unpinTime is how long a refused request takes at most to leave nothing behind.
const unpinTime = 5 * time.Second

// unpin takes back what pin did for a conversation's first request where that was refused: the next one has
// the choice again. Where a run was let in meanwhile it has been made with what was pinned, and that stays.
func (s *Service) unpin(ctx context.Context, x *ExecutionContext, made *Row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpinTime)
	defer cancel()
	defer s.doors.enter(made.ID)()
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
		return // it is pinned to what was its choice anyhow
	}
	s.changes.Add(1)
	if !none() { // another process has let one in
		_, _ = s.pin(ctx, x, &row)
	}
}

// pinnedIn writes and reads the agent of a run in its metadata.
func pinnedIn(metadata map[string]string, a *directory.Agent) {
	if a.ID != "" {
		metadata[keyAgent] = a.ID + "@" + strconv.Itoa(a.Version)
	}
}

func pinnedOf(metadata map[string]string) (agent string, version int) {
	agent, number, _ := strings.Cut(metadata[keyAgent], "@")
	version, _ = strconv.Atoi(number) // of none it is 0
	return agent, version
}
