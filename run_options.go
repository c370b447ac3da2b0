package braid

import (
	"maps"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/secret"
)

// RunOption sets something for one run.
type RunOption func(*runOptions)

type runOptions struct {
	drive.Request

	conv   *Conversation
	into   *Result
	state  map[string]any
	policy Policy
}

// In runs in a conversation. Without it a run has one of its own; find it in
// Result.Conversation.
func In(c *Conversation) RunOption { return func(o *runOptions) { o.conv = c } }

// Into fills r when a stream ends, as [Agent.Run] would give it.
func Into(r *Result) RunOption { return func(o *runOptions) { o.into = r } }

// Key makes the run idempotent: a second run of the conversation with the same
// key and input is the first one; with another input it is refused with
// [event.ErrConflict].
func Key(key string) RunOption { return func(o *runOptions) { o.Key = key } }

// Executor labels the run for logs and usage. It is no identity.
func Executor(label string) RunOption { return func(o *runOptions) { o.Executor = label } }

// Metadata adds the caller's own labels.
func Metadata(m map[string]string) RunOption { return func(o *runOptions) { o.Metadata = m } }

// NewSession begins a new stretch of the conversation: the log goes on, and the
// model sees nothing of what was before.
func NewSession() RunOption { return func(o *runOptions) { o.NewSession = true } }

// For says whose conversation it is, where a store is shared: "app:" state
// belongs to the tenant, "user:" state to the user inside it.
func For(tenant, user string) RunOption {
	return func(o *runOptions) { o.Tenant, o.User = tenant, user }
}

// WithState gives the run values of its own before it begins: its tools and hooks read them as
// [StateTemp] state, keys without the prefix here. They are in this process's memory only:
// whoever goes on with the run later gives them again. What is no JSON is refused with
// [event.ErrInvalid].
func WithState(values map[string]any) RunOption {
	return func(o *runOptions) {
		if o.state == nil {
			o.state = make(map[string]any, len(values))
		}
		maps.Copy(o.state, values)
	}
}

func options(opts []RunOption) runOptions {
	var o runOptions
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}

// WithSecrets gives the run's tools secrets by name, such as the token with which they work for the caller. A tool
// reads one with [tool.SecretOf].
//
// Secrets are in this process's memory only, for as long as the run is driven: whoever drives the run later gives
// them again. Where a tool or a model repeats one it is replaced by [secret.Redacted] before it reaches a model, the
// log, a stream, a hook or an error, in all the forms that a [secret.Mask] finds, also in the live pieces of an
// answer. Thinking that repeats one is left out. Values of fewer than [secret.MaskFrom] bytes are not looked for. What the
// caller says, metadata, and the state of temporary keys stay as they are.
func WithSecrets(values map[string]secret.Secret) RunOption {
	return func(o *runOptions) {
		if o.Secrets == nil {
			o.Secrets = make(map[string]secret.Secret, len(values))
		}
		maps.Copy(o.Secrets, values)
	}
}
