package service

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
)

// contextOf returns the context that a run's row describes.
func (s *Service) contextOf(row *journal.Run) *ExecutionContext {
	x := &ExecutionContext{
		Principal: Principal{Tenant: row.Tenant, User: row.User}, Conversation: row.Conversation, Run: row.ID, Turn: row.Turn,
		SessionID: event.SessionID(row.Conversation, row.Session), Executor: row.Executor,
		ConversationLife: row.Metadata[keyLife],
		Tenant:           directory.Tenant{ID: row.Tenant}, Model: row.Metadata[keyModel], Limits: limitsOf(row, &s.options),
	}
	x.noFiles = row.Metadata[keyNoFiles] != ""
	held := s.tokens.get(row.ID)
	x.Tokens, x.Shown = held.values, held.shown
	x.own = ownOf(row)
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
func (s *conversations) verify(ctx context.Context, x *ExecutionContext, pick func(t *directory.Tenant) (agent string, version int)) error {
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
