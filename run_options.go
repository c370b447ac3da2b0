package braid

import (
	"context"
	"maps"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/secret"
)

// RunOption is an option of one run: of [Agent.Run], [Agent.Stream], [Agent.Resume] and [Agent.Call]. An option whose name
// begins with With changes for one run what the agent is, has or may do.
//
// A RunOption that is no [SendOption] holds Go values of this process. Another driver of the run must be given them
// again.
type RunOption interface{ run(o *runOptions) }

// SendOption is a [RunOption] that a store keeps with the accepted run, whoever drives it. So [Agent.Send] takes it too.
type SendOption interface {
	RunOption

	kept()
}

type runOption func(o *runOptions)

func (f runOption) run(o *runOptions) { f(o) }

type sendOption func(o *runOptions)

func (f sendOption) run(o *runOptions) { f(o) }
func (sendOption) kept()               {}

type runOptions struct {
	drive.Request

	conv  *Conversation
	into  *Result
	state map[string]any
	// beside is input beside the text.
	beside runInput
	// own are the settings that the run has for itself; nil for none.
	own *ownSettings
	// of is the agent that the run is prepared for; nil for none.
	of *Agent
}

// runInput is input beside a text: messages before it, blocks behind it, or answers instead of it. policy says what
// happens to the input if a run is open.
type runInput struct {
	policy  Policy
	before  []event.Message
	more    []event.Block
	answers []Answer
}

func (in *runInput) any() bool { return len(in.before)+len(in.more) > 0 }

// In runs in this conversation. Without it a run has a new one: Result.Conversation.
func In(c *Conversation) RunOption { return runOption(func(o *runOptions) { o.conv = c }) }

// Into fills r when a stream ends, as [Agent.Run] would give it.
func Into(r *Result) RunOption { return runOption(func(o *runOptions) { o.into = r }) }

// Attach adds blocks to the input, behind its text: images, documents and others of package event.
func Attach(blocks ...event.Block) SendOption {
	return sendOption(func(o *runOptions) { o.beside.more = append(o.beside.more, blocks...) })
}

// History puts messages before the input, such as those of a conversation that was kept elsewhere. Braid repairs what
// models would refuse and says so in Result.Repaired. If the text of the input is empty and nothing is attached, the last
// message is the input. If that is an answer, a request to go on follows it.
func History(messages ...event.Message) SendOption {
	return sendOption(func(o *runOptions) { o.beside.before = append(o.beside.before, messages...) })
}

// Answers answers open questions before the run goes on. A run with answers has no other input.
func Answers(answers ...Answer) RunOption {
	return runOption(func(o *runOptions) { o.beside.answers = append(o.beside.answers, answers...) })
}

// WithAnswers has f answer the questions of the run, one after another, while the run's other tools work. The value is
// checked against the question's schema as by [Conversation.Answer]. f must return when its context is done.
//
// If f fails, panics or gives an answer that does not fit, the run waits as without WithAnswers, and its error is beside
// the result: nothing is lost, and the question can still be answered. So it is if the run is left while f works. f is of
// this process: whoever resumes the run gives its own.
func WithAnswers(f func(ctx context.Context, q Question) (answer any, err error)) RunOption {
	return runOption(func(o *runOptions) { o.sets().answer = f })
}

// Key makes the run idempotent. A second run of the conversation with the same key and input returns the first one;
// with another input it is refused with [event.ErrConflict].
func Key(key string) SendOption { return sendOption(func(o *runOptions) { o.Key = key }) }

// Executor labels the run in logs and usage. It is no identity and is not checked.
func Executor(label string) SendOption { return sendOption(func(o *runOptions) { o.Executor = label }) }

// Metadata adds labels to the run.
func Metadata(m map[string]string) SendOption {
	return sendOption(func(o *runOptions) { o.Metadata = m })
}

// NewSession begins a new session: the log continues, and the model sees nothing of the earlier sessions.
func NewSession() SendOption { return sendOption(func(o *runOptions) { o.NewSession = true }) }

// For says whose conversation it is, in a shared store: "app:" state belongs to the tenant, "user:" state to the user
// of that tenant.
func For(tenant, user string) SendOption {
	return sendOption(func(o *runOptions) { o.Tenant, o.User = tenant, user })
}

// WithState gives the run temporary state before it begins. Tools and hooks read it as [StateTemp] state; the keys
// here have no prefix. The values exist in this process's memory only: another driver of the run must pass them again.
// A value that is no JSON is refused with [event.ErrInvalid].
func WithState(values map[string]any) RunOption {
	return runOption(func(o *runOptions) {
		if o.state == nil {
			o.state = make(map[string]any, len(values))
		}
		maps.Copy(o.state, values)
	})
}

// WithSecrets gives the run's tools secrets by name, such as the token with which they work for the caller. A tool
// reads one with [tool.SecretOf].
//
// Secrets exist in this process's memory only, while the run is driven. Another driver of the run must pass them
// again. If a tool or a model repeats a secret, it is replaced by [secret.Redacted] before it reaches a model, the
// log, a stream, a hook or an error, in all forms that a [secret.Mask] finds, also in live pieces. Thinking that
// repeats one is dropped. Values shorter than [secret.MaskFrom] bytes are not masked. The run's input, metadata and
// temporary state are not masked either.
func WithSecrets(values map[string]secret.Secret) RunOption {
	return runOption(func(o *runOptions) {
		if o.Secrets == nil {
			o.Secrets = make(map[string]secret.Secret, len(values))
		}
		maps.Copy(o.Secrets, values)
	})
}

func options[O RunOption](opts []O) *runOptions {
	o := &runOptions{}
	for _, opt := range opts {
		if RunOption(opt) != nil {
			opt.run(o)
		}
	}
	return o
}
