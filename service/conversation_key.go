package service

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/workspace"
)

// A conversation's id can be reused: AgentCore's callers choose session ids, and an erased tenant's
// id may be given to a new tenant. Data of a conversation outside its log and row is therefore kept
// by id and life.

// ConversationKey identifies one conversation for good. Life distinguishes conversations that reuse
// one ID.
type ConversationKey struct{ Tenant, ID, Life string }

// topic returns the key under which the conversation's events are published.
func (k ConversationKey) topic() live.Key {
	return live.Key{Tenant: k.Tenant, Conversation: k.ID, Life: k.Life}
}

// Key returns the key of the conversation.
func (r *Row) Key() ConversationKey { return ConversationKey{r.Tenant, r.ID, r.life()} }

type conversationKey struct{}

// runsIn is what the tools of a run find in their context.
type runsIn struct {
	conversation ConversationKey
	// workspaces is nil if the service has none.
	workspaces workspace.Backend
	quotas     *quotas
	artifacts  artifact.Files
}

func withConversation(ctx context.Context, in runsIn) context.Context {
	return context.WithValue(ctx, conversationKey{}, in)
}

// ConversationOf returns the conversation of the run that a tool works for. ok is false outside a
// run of a service.
func ConversationOf(ctx context.Context) (key ConversationKey, ok bool) {
	in, ok := ctx.Value(conversationKey{}).(runsIn)
	return in.conversation, ok
}

// life distinguishes conversations that reuse one caller-chosen id.
func (r *Row) life() string { return strconv.FormatInt(r.Created.UnixMicro(), 36) }
