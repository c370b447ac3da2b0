package native

import (
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire"
)

// Error is an error on the wire: the frame that ends a run that failed, and, under
// the key "error", the body of every answer that is one.
type Error struct {
	// Code is a word for programs, from [event.Kinds] or [Codes].
	Code string `json:"code"`
	// Message says what happened, Hint what to do next.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// RequestID names the request for the operator.
	RequestID string `json:"request_id,omitempty"`
	// RetryAfter is how long to wait, in seconds; 0 is unknown.
	RetryAfter int `json:"retry_after,omitempty"`
	// Run is what the run came to that the error ends; nil anywhere else.
	Run *End `json:"run,omitempty"`
}

// ErrorBody is the body of an HTTP answer that is an error.
type ErrorBody struct {
	Error Error `json:"error"`
}

// The codes that say more than an error's kind. An [event.Error] with one of them
// as its Code keeps it on the wire.
const (
	CodeConversationNotFound = "CONVERSATION_NOT_FOUND"
	CodeConversationArchived = "CONVERSATION_ARCHIVED"
	CodeConversationExpired  = "CONVERSATION_EXPIRED"
	CodeRunNotFound          = "RUN_NOT_FOUND"
	CodeQuestionNotFound     = "QUESTION_NOT_FOUND"
	CodeIdempotencyMismatch  = "IDEMPOTENCY_MISMATCH"
	CodeAnswerInvalid        = "ANSWER_INVALID"

	CodeTenantInactive   = "TENANT_INACTIVE"
	CodeTenantNotFound   = "TENANT_NOT_FOUND"
	CodeTenantExists     = "TENANT_EXISTS"
	CodeAgentNotFound    = "AGENT_NOT_FOUND"
	CodeAgentInactive    = "AGENT_INACTIVE"
	CodeAgentExists      = "AGENT_EXISTS"
	CodeModelInactive    = "MODEL_INACTIVE"
	CodeModelExists      = "MODEL_EXISTS"
	CodeModelNameTaken   = "MODEL_NAME_TAKEN"
	CodeKeyNotFound      = "KEY_NOT_FOUND"
	CodeRevisionConflict = "REVISION_CONFLICT"
	CodeScopeMissing     = "SCOPE_MISSING"
	CodeSubAgentsInvalid = "SUB_AGENTS_INVALID"
	CodeKeyBoundToUser   = "KEY_BOUND_TO_USER"
	CodeKeyOutlived      = "KEY_OUTLIVED"
	CodeAnswerNotYours   = "ANSWER_NOT_YOURS"
	CodeSchemaInvalid    = "SCHEMA_INVALID"

	CodeQuotaRequests      = "QUOTA_REQUESTS"
	CodeQuotaConversations = "QUOTA_CONVERSATIONS"
	CodeQuotaAgents        = "QUOTA_AGENTS"
	CodeQuotaStorage       = "QUOTA_STORAGE"
	CodeQuotaTokens        = "QUOTA_TOKENS"
	CodeQuotaCost          = "QUOTA_COST"
	CodeRunNotRetryable    = "RUN_NOT_RETRYABLE"
	CodeReferenceUnknown   = "REFERENCE_UNKNOWN"
	CodeModelInUse         = "MODEL_IN_USE"
	CodeSettingInvalid     = "SETTING_INVALID"
	CodeSettingForbidden   = "SETTING_FORBIDDEN"
	CodeRunOtherSettings   = "RUN_HAS_OTHER_SETTINGS"

	CodeMCPServerNotFound = "MCP_SERVER_NOT_FOUND"
	CodeMCPServerExists   = "MCP_SERVER_EXISTS"
	CodeMCPServerInUse    = "MCP_SERVER_IN_USE"
	CodeMCPServerChanged  = "MCP_SERVER_CHANGED"
	CodeMCPServerInvalid  = "MCP_SERVER_INVALID"
	CodeMCPServerFailed   = "MCP_SERVER_FAILED"
	CodeMCPServerInactive = "MCP_SERVER_INACTIVE"
	CodeMCPGrantNotFound  = "MCP_GRANT_NOT_FOUND"
	CodeQuotaMCPServers   = "QUOTA_MCP_SERVERS"
	CodeTokenMissing      = "TOKEN_MISSING"
	CodeTokenInvalid      = "TOKEN_INVALID"

	CodeAttachmentInvalid    = "ATTACHMENT_INVALID"
	CodeAttachmentUnreadable = "ATTACHMENT_UNREADABLE"
	CodeAttachmentTooLarge   = "ATTACHMENT_TOO_LARGE"

	CodeSkillNotFound = "SKILL_NOT_FOUND"
	CodeSkillExists   = "SKILL_EXISTS"
	CodeSkillInUse    = "SKILL_IN_USE"
	CodeSkillInvalid  = "SKILL_INVALID"
	CodeSkillUnknown  = "SKILL_UNKNOWN"
	CodeQuotaSkills   = "QUOTA_SKILLS"

	CodeTooManyBytes         = "TOO_MANY_BYTES"
	CodeWrongCredentials     = "WRONG_CREDENTIALS" //nolint:gosec // a code, and no secret
	CodeServerBusy           = "SERVER_BUSY"
	CodeConversationTooLarge = "CONVERSATION_TOO_LARGE"
	CodeStorageDamaged       = "STORAGE_DAMAGED"
)

// CodeInfo is what a code means.
type CodeInfo struct {
	Code string
	Kind event.ErrorKind
	HTTP int
}

// The list is append-only: codes are sent.
var codes = [...]CodeInfo{
	{CodeConversationNotFound, event.ErrNotFound, 404},
	{CodeConversationArchived, event.ErrConflict, 409},
	{CodeConversationExpired, event.ErrGone, 410},
	{CodeRunNotFound, event.ErrNotFound, 404},
	{CodeQuestionNotFound, event.ErrNotFound, 404},
	{CodeIdempotencyMismatch, event.ErrConflict, 422},
	{CodeAnswerInvalid, event.ErrInvalid, 422},
	{CodeTenantInactive, event.ErrPermission, 403},
	{CodeTenantNotFound, event.ErrNotFound, 404},
	{CodeTenantExists, event.ErrConflict, 409},
	{CodeAgentNotFound, event.ErrNotFound, 422}, // where a body names it; where an address does, that is 404
	{CodeAgentInactive, event.ErrConflict, 409},
	{CodeAgentExists, event.ErrConflict, 409},
	{CodeModelInactive, event.ErrConflict, 409},
	{CodeModelExists, event.ErrConflict, 409},
	{CodeModelNameTaken, event.ErrConflict, 409},
	{CodeKeyNotFound, event.ErrNotFound, 404},
	{CodeRevisionConflict, event.ErrConflict, 409},
	{CodeScopeMissing, event.ErrPermission, 403},
	{CodeSubAgentsInvalid, event.ErrInvalid, 422},
	{CodeKeyBoundToUser, event.ErrPermission, 403},
	{CodeKeyOutlived, event.ErrPermission, 403},
	{CodeAnswerNotYours, event.ErrPermission, 403},
	{CodeSchemaInvalid, event.ErrInvalid, 422},
	{CodeQuotaRequests, event.ErrQuota, 429},
	{CodeQuotaConversations, event.ErrQuota, 429},
	{CodeQuotaAgents, event.ErrQuota, 429},
	{CodeQuotaStorage, event.ErrQuota, 429},
	{CodeQuotaTokens, event.ErrQuota, 429},
	{CodeQuotaCost, event.ErrQuota, 429},
	{CodeRunNotRetryable, event.ErrConflict, 409},
	{CodeReferenceUnknown, event.ErrInvalid, 422},
	{CodeModelInUse, event.ErrConflict, 409},
	{CodeWrongCredentials, event.ErrQuota, 429},
	{CodeTooManyBytes, event.ErrQuota, 429},
	{CodeServerBusy, event.ErrUnavailable, 503},
	{CodeConversationTooLarge, event.ErrTooLarge, 413},
	{CodeStorageDamaged, event.ErrInternal, 500},
	{CodeSettingInvalid, event.ErrInvalid, 422},
	{CodeSettingForbidden, event.ErrPermission, 403},
	{CodeMCPServerNotFound, event.ErrNotFound, 404},
	{CodeMCPServerExists, event.ErrConflict, 409},
	{CodeMCPServerInUse, event.ErrConflict, 409},
	{CodeMCPServerChanged, event.ErrConflict, 409},
	{CodeMCPServerInvalid, event.ErrInvalid, 422},
	{CodeMCPServerFailed, event.ErrUnavailable, 503},
	{CodeMCPServerInactive, event.ErrConflict, 409},
	{CodeMCPGrantNotFound, event.ErrNotFound, 404},
	{CodeQuotaMCPServers, event.ErrQuota, 429},
	{CodeTokenMissing, event.ErrInvalid, 422},
	{CodeTokenInvalid, event.ErrInvalid, 422},
	{CodeAttachmentInvalid, event.ErrInvalid, 422},
	{CodeAttachmentUnreadable, event.ErrUnsupported, 422},
	{CodeAttachmentTooLarge, event.ErrTooLarge, 413},
	{CodeSkillNotFound, event.ErrNotFound, 404},
	{CodeSkillExists, event.ErrConflict, 409},
	{CodeSkillInUse, event.ErrConflict, 409},
	{CodeSkillInvalid, event.ErrInvalid, 422},
	{CodeSkillUnknown, event.ErrUnsupported, 422},
	{CodeQuotaSkills, event.ErrQuota, 429},
	{CodeRunOtherSettings, event.ErrConflict, 409},
}

// Codes lists all codes of this wire: those of the kinds and its own.
func Codes() []CodeInfo {
	kinds := event.Kinds()
	all := make([]CodeInfo, 0, len(kinds)+len(codes))
	for _, k := range kinds {
		all = append(all, CodeInfo{k.Code, k.Kind, k.HTTP})
	}
	return append(all, codes[:]...)
}

// lookUp finds a code. own is set for those beyond the kinds.
func lookUp(code string) (info CodeInfo, own, ok bool) {
	for _, c := range codes {
		if c.Code == code {
			return c, true, true
		}
	}
	for _, k := range event.Kinds() {
		if k.Code == code {
			return CodeInfo{k.Code, k.Kind, k.HTTP}, false, true
		}
	}
	return CodeInfo{}, false, false
}

// ErrorOf is what the wire says of err, and the HTTP status for where nothing has
// been sent yet. Of an internal error it says no more than that it is one, or that what is stored is damaged.
func ErrorOf(err error) (Error, int) {
	kind := event.KindOf(err)
	info := kind.Info()
	out, status := Error{Code: info.Code}, info.HTTP
	_, out.Message, out.Hint = wire.FaultOf(err)
	e, ok := errors.AsType[*event.Error](err)
	if !ok || info.Kind == event.ErrInternal {
		if ok && e.Code == CodeStorageDamaged {
			out.Code, out.Message = e.Code, "what the server has stored of this is damaged"
			out.Hint = "Ask the server's operator to restore a backup. Other conversations are not affected."
		}
		return out, status
	}
	if c, own, _ := lookUp(e.Code); own && c.Kind == info.Kind {
		out.Code, status = c.Code, c.HTTP
	}
	if e.RetryAfter > 0 {
		out.RetryAfter = int((e.RetryAfter + time.Second - 1) / time.Second)
	}
	return out, status
}

// Err is the error as the rest of Braid has it: its kind is that of the code, its
// Code the code. What this version does not know is internal.
func (e *Error) Err() *event.Error {
	kind := event.ErrInternal
	if info, _, ok := lookUp(e.Code); ok {
		kind = info.Kind
	}
	return &event.Error{
		Kind: kind, Message: e.Message, Hint: e.Hint, Code: e.Code, RetryAfter: time.Duration(e.RetryAfter) * time.Second,
	}
}
