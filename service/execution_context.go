package service

import (
	"encoding/json"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/internal/runset"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
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
	// own are the settings of the request's own.
	own runset.Settings
	// noFiles says that the conversation was made without files.
	noFiles bool
	// Files are those of the conversation. nil means that it has none.
	Files workspace.Files
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
