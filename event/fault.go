package event

import (
	"errors"
	"time"
)

// ErrorKind classifies an error for people, programs and wires. It is itself
// an error, so that errors.Is(err, event.ErrThrottled) asks for the kind. The
// list is append-only because kinds are stored and sent.
type ErrorKind string

// The kinds of errors; [Kinds] says what each means to the outside.
const (
	ErrInternal        ErrorKind = "internal"
	ErrInvalid         ErrorKind = "invalid"
	ErrUnauthenticated ErrorKind = "unauthenticated"
	ErrPermission      ErrorKind = "permission"
	ErrNotFound        ErrorKind = "not_found"
	ErrConflict        ErrorKind = "conflict"
	ErrLocked          ErrorKind = "locked"
	ErrGone            ErrorKind = "gone"
	ErrTooLarge        ErrorKind = "too_large"
	ErrUnsupported     ErrorKind = "unsupported"
	ErrModelNotFound   ErrorKind = "model_not_found"
	ErrModel           ErrorKind = "model_error"
	ErrModelAuth       ErrorKind = "model_auth"
	ErrThrottled       ErrorKind = "throttled"
	ErrOverloaded      ErrorKind = "overloaded"
	ErrStreamCut       ErrorKind = "stream_cut"
	ErrContextOverflow ErrorKind = "context_overflow"
	ErrMaxTokens       ErrorKind = "max_tokens"
	ErrLimit           ErrorKind = "limit"
	ErrTimeout         ErrorKind = "timeout"
	ErrCancelled       ErrorKind = "cancelled"
	ErrUnavailable     ErrorKind = "unavailable"
	ErrStorageFull     ErrorKind = "storage_full"
	ErrBacklogFull     ErrorKind = "backlog_full"
	ErrLeaseLost       ErrorKind = "lease_lost"
	ErrNewer           ErrorKind = "newer_version"
	ErrPoisoned        ErrorKind = "run_poisoned"
	ErrQuota           ErrorKind = "quota"
)

// Error implements error: a kind is the shortest form of an error.
func (k ErrorKind) Error() string { return string(k) }

// KindInfo is what a kind of error is to the outside: one row of the table
// that every surface reads.
type KindInfo struct {
	Kind ErrorKind
	// HTTP is the status before the first byte is sent.
	HTTP int
	// Exit is the command's exit code.
	Exit int
	// Code is the native wire's word (seed 4).
	Code string
	// AgentCore is the exception name that AgentCore's platform answers with.
	AgentCore string
	// ADK is the errorCode of an ADK event.
	ADK string
	// Retry says that the same request may succeed later.
	Retry bool
	// Meaning is one sentence for people.
	Meaning string
}

// Error is Braid's one error type.
type Error struct {
	// Op is what was being done, such as "tool add".
	Op string `json:"op,omitempty"`
	// Kind is what went wrong; empty counts as [ErrInternal].
	Kind ErrorKind `json:"kind"`
	// Message tells a person what happened; Hint what to do next. Neither
	// holds a path, a key, SQL or a stack.
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Code is the other side's own word for it (a provider's error type, ADK's
	// errorCode), kept as it came so that a wire can write it back; empty where
	// the error is Braid's own.
	Code string `json:"code,omitempty"`
	// RetryAfter is how long the other side asked to wait; 0 is unknown.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	// Err is the cause. It is for operators: it is never stored or sent.
	Err error `json:"-"`
}

// Error implements error: "op: message (hint)".
func (e *Error) Error() string {
	s := e.Message
	if s == "" {
		s = string(e.kind())
		if e.Err != nil {
			s += ": " + e.Err.Error()
		}
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(ErrorKind)
	return ok && k == e.kind()
}

func (e *Error) kind() ErrorKind {
	if e.Kind == "" {
		return ErrInternal
	}
	return e.Kind
}

// KindOf finds the kind in err's chain: "" for nil, ErrInternal where there is none.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.kind()
	}
	if k, ok := errors.AsType[ErrorKind](err); ok {
		return k
	}
	return ErrInternal
}

// Info looks a kind up in [Kinds]. A kind that this version does not know is
// treated as internal.
func (k ErrorKind) Info() KindInfo {
	for i := range kinds {
		if kinds[i].Kind == k {
			return kinds[i]
		}
	}
	return kinds[0]
}

// Kinds lists every kind with what it means to the outside; the first is [ErrInternal].
func Kinds() []KindInfo { return append([]KindInfo(nil), kinds[:]...) }

// AgentCore's exception names: its page of platform errors knows no others.
const (
	acValidation = "ValidationException"
	acQuota      = "ServiceQuotaExceededException"
	acDenied     = "AccessDeniedException"
	acNotFound   = "ResourceNotFoundException"
	acConflict   = "RetryableConflictException"
	acClient     = "RuntimeClientError"
	acThrottled  = "ThrottlingException"
	acInternal   = "InternalServerException"
)

// The one table from kinds to HTTP status, exit code and wires. Seed 4 fixes
// the codes of ErrLocked, ErrModel, ErrTimeout, ErrInternal and ErrModelNotFound;
// exit codes follow the shell where it has a habit (124 time-out, 130 interrupt).
var kinds = [...]KindInfo{
	{ErrInternal, 500, 1, "INTERNAL_ERROR", acInternal, "INTERNAL", false, "Something went wrong inside Braid."},
	{ErrInvalid, 400, 2, "INVALID_REQUEST", acValidation, "INVALID_ARGUMENT", false, "The request or its configuration is wrong."},
	{ErrUnauthenticated, 401, 10, "UNAUTHENTICATED", acDenied, "UNAUTHENTICATED", false, "There is no valid credential."},
	{ErrPermission, 403, 11, "PERMISSION_DENIED", acDenied, "PERMISSION_DENIED", false, "The credential does not allow this."},
	{ErrNotFound, 404, 12, "NOT_FOUND", acNotFound, "NOT_FOUND", false, "There is no such thing, or it is somebody else's."},
	{ErrConflict, 409, 13, "CONFLICT", acConflict, "ABORTED", false, "The thing changed meanwhile, or is in another state."},
	{ErrLocked, 409, 14, "CONVERSATION_LOCKED", acConflict, "ABORTED", true, "Another run holds the conversation."},
	{ErrGone, 410, 15, "GONE", acNotFound, "NOT_FOUND", false, "It was there and has expired or been answered."},
	{ErrTooLarge, 413, 16, "TOO_LARGE", acValidation, "INVALID_ARGUMENT", false, "It is over a size limit."},
	{ErrUnsupported, 422, 17, "UNSUPPORTED", acValidation, "UNIMPLEMENTED", false, "This build or model cannot do that."},
	{ErrModelNotFound, 422, 18, "MODEL_NOT_FOUND", acValidation, "NOT_FOUND", false, "There is no such model."},
	{ErrModel, 502, 20, "SDK_ERROR", acClient, "UNKNOWN", false, "The model's provider gave an error."},
	{ErrModelAuth, 502, 21, "MODEL_AUTH", acClient, "UNAUTHENTICATED", false, "The model's provider refused the credential."},
	{ErrThrottled, 429, 22, "THROTTLED", acThrottled, "RESOURCE_EXHAUSTED", true, "The model's provider is throttling."},
	{ErrOverloaded, 503, 23, "OVERLOADED", acThrottled, "UNAVAILABLE", true, "The model's provider is overloaded."},
	{ErrStreamCut, 502, 24, "STREAM_CUT", acClient, "UNAVAILABLE", true, "The model's answer broke off."},
	{ErrContextOverflow, 422, 25, "CONTEXT_OVERFLOW", acClient, "INVALID_ARGUMENT", false, "The conversation does not fit the model's context."},
	{ErrMaxTokens, 422, 26, "MAX_TOKENS", acClient, "MAX_TOKENS", false, "The model's answer was cut at its token limit."},
	{ErrLimit, 422, 27, "LIMIT_REACHED", acClient, "RESOURCE_EXHAUSTED", false, "The run reached one of its limits."},
	{ErrTimeout, 504, 124, "TIMEOUT", acClient, "DEADLINE_EXCEEDED", true, "The time was over before the run was."},
	{ErrCancelled, 499, 130, "CANCELLED", acClient, "CANCELLED", false, "The run was cancelled."},
	{ErrUnavailable, 503, 28, "UNAVAILABLE", acInternal, "UNAVAILABLE", true, "Something that Braid needs cannot be reached."},
	{ErrStorageFull, 507, 29, "STORAGE_FULL", acQuota, "RESOURCE_EXHAUSTED", true, "There is no space left to write."},
	{ErrBacklogFull, 429, 30, "BACKLOG_FULL", acThrottled, "RESOURCE_EXHAUSTED", true, "Too many runs are waiting."},
	{ErrLeaseLost, 503, 31, "LEASE_LOST", acConflict, "ABORTED", true, "Another worker took the conversation over."},
	{ErrNewer, 500, 32, "NEWER_VERSION", acInternal, "FAILED_PRECONDITION", false, "The data was written by a newer version."},
	{ErrPoisoned, 500, 33, "RUN_POISONED", acInternal, "INTERNAL", false, "The run ended its process again and again."},
	{ErrQuota, 429, 34, "QUOTA_EXCEEDED", acThrottled, "RESOURCE_EXHAUSTED", true, "The tenant has reached one of its limits."},
}
