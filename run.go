package braid

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/foreign"
)

// Run answers input and gives the result. It is [Agent.Stream] read to its end.
//
// input is a string, a block or blocks of package event, a message or messages
// (a history that ends with a user's), or an [Answer] or answers to open
// questions. The error is nil where the run completed or waits for an answer
// (Result.Stop tells); for a limit, a cut answer, a cancelled or timed-out run it
// is an *[event.Error] of that kind, beside a result as far as it got.
func (a *Agent) Run(ctx context.Context, input any, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, input, opts)
}

// Stream answers input and yields every event as it happens. It is lossless: who drives the
// run calls the loop's body and waits for it. A durable event is in the
// log before it is yielded. Pieces of an answer may come on another goroutine than the
// loop's, the one that calls the model, while the loop's waits: a model that does not stop
// when it is cancelled must not hold the loop up. A panic in the body, and
// [runtime.Goexit], go on in the loop's goroutine. Breaking out cancels the run, waits for what it
// started and frees everything; a run that already waits for an answer goes on
// waiting. An error is yielded last, with an empty event.
func (a *Agent) Stream(ctx context.Context, input any, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, input, opts)
}

// Resume goes on with a conversation's open run: one that waits and has been
// answered, or one whose driver died. Finished steps are not repeated, and a run
// that waits for tools goes straight to them, without a model call. Where the newest run
// failed, a new run continues it at the step that failed: it sees the failed run's messages and results,
// repeats no finished step, and has limits of its own. Where there
// is no open run but the last word was the user's, it is answered.
func (a *Agent) Resume(ctx context.Context, conv *Conversation, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// ResumeStream is [Agent.Resume] as a stream.
func (a *Agent) ResumeStream(ctx context.Context, conv *Conversation, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// resume is the input that is none.
type resume struct{}

// Answer is an answer to an open question, as input of a run.
type Answer struct {
	Token string
	// Value is written as JSON; nil is an answer too.
	Value any
	// By says who answered.
	By string
}

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

func (a *Agent) collect(ctx context.Context, input any, opts []RunOption) (*Result, error) {
	r := &Result{}
	o := options(opts)
	err := a.drive(ctx, input, &o, r, func(event.Event) bool { return true })
	if o.into != nil {
		*o.into = *r
	}
	return r, err
}

func (a *Agent) stream(ctx context.Context, input any, opts []RunOption) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		o := options(opts)
		left := false
		err := a.drive(ctx, input, &o, o.into, func(e event.Event) bool {
			left = !yield(e, nil)
			return !left
		})
		if err != nil && !left {
			yield(event.Event{}, err)
		}
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

// drive is the way of a run from its input to its last event: check, admit,
// acquire, drive, give back.
func (a *Agent) drive(ctx context.Context, input any, o *runOptions, r *Result, sink func(event.Event) bool) error {
	team, err := a.team()
	if err != nil {
		return err
	}
	messages, answers, err := inputOf(input)
	if err != nil {
		return err
	}
	if len(o.state) > 0 {
		if o.Given, err = givenState(o.state); err != nil {
			return err
		}
	}
	if o.conv == nil {
		if messages == nil {
			return &event.Error{
				Op: "run", Kind: event.ErrInvalid, Message: "there is no conversation to go on with",
				Hint: "pass it with braid.In",
			}
		}
		o.conv, o.Private = NewConversation(), o.into == nil
	}
	conv := o.conv
	o.Log = &conv.log
	if r != nil {
		r.Conversation = conv
	}
	for _, answer := range answers {
		if err := conv.answer(ctx, answer); err != nil {
			return err
		}
	}
	if messages != nil && o.policy != "" && o.policy != Reject {
		sent, err := a.send(ctx, o, conv, messages)
		if err != nil {
			return err
		}
		o.Run, o.Waits, messages = sent.Run, true, nil
	}
	if r == nil {
		return a.frozen.Run(ctx, team, messages, &o.Request, nil, sink)
	}
	outcome := &hook.Outcome{}
	err = a.frozen.Run(ctx, team, messages, &o.Request, outcome, sink)
	r.set(outcome)
	return err
}

// inputOf reads what Run was given. No messages and no error means to resume.
func inputOf(input any) ([]event.Message, []Answer, error) {
	switch in := input.(type) {
	case string:
		if strings.TrimSpace(in) == "" {
			return nil, nil, emptyInput()
		}
		if !utf8.ValidString(in) {
			return nil, nil, &event.Error{
				Op: "run", Kind: event.ErrInvalid, Message: "the input is not valid UTF-8",
				Hint: "convert it to UTF-8 first",
			}
		}
		return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: in}}}}, nil, nil
	case event.Block:
		return inputMessages([]event.Message{{Role: event.RoleUser, Content: []event.Block{in}}})
	case []event.Block:
		return inputMessages([]event.Message{{Role: event.RoleUser, Content: in}})
	case event.Message:
		return inputMessages([]event.Message{in})
	case []event.Message:
		return inputMessages(in)
	case Answer:
		return nil, []Answer{in}, nil
	case []Answer:
		if len(in) == 0 {
			return nil, nil, emptyInput()
		}
		return nil, in, nil
	case directCall:
		return in.messages(), nil, nil
	case resume:
		return nil, nil, nil
	case nil:
		return nil, nil, emptyInput()
	default:
		return nil, nil, &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: fmt.Sprintf("the type %T is no input", input),
			Hint: "pass a string, blocks, messages or answers",
		}
	}
}

func emptyInput() error {
	return &event.Error{
		Op: "run", Kind: event.ErrInvalid, Message: "the input is empty",
		Hint: "say something, or use Resume to go on with what is there",
	}
}

// inputMessages holds a history against what a model takes: it ends with the
// user, and every call has its result in the next message.
func inputMessages(in []event.Message) ([]event.Message, []Answer, error) {
	bad := func(what string) ([]event.Message, []Answer, error) {
		return nil, nil, &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: "the messages cannot be an input: " + what,
			Hint: "end with a user's message, and put each tool result into the message after its call",
		}
	}
	if len(in) == 0 {
		return nil, nil, emptyInput()
	}
	var open []*event.ToolCall
	in = withoutBlanks(in)
	for i, m := range in {
		if m.Role != event.RoleUser && m.Role != event.RoleAssistant {
			return bad(fmt.Sprintf("message %d has the role %q", i, m.Role))
		}
		if len(m.Content) == 0 {
			if len(in) == 1 {
				return nil, nil, emptyInput()
			}
			if m.Role == event.RoleUser {
				return bad(fmt.Sprintf("message %d is empty", i))
			}
		}
		if foreign.HasNil(m.Content) {
			return bad(fmt.Sprintf("message %d holds a block that is nil", i))
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				if !utf8.ValidString(b.Text) {
					return bad(fmt.Sprintf("message %d is not valid UTF-8", i))
				}
			case *event.ToolCall:
				if m.Role == event.RoleUser {
					return bad(fmt.Sprintf("message %d is the user's and calls the tool %q", i, b.Name))
				}
			case *event.ToolResult:
				n := len(open)
				open = slices.DeleteFunc(open, func(c *event.ToolCall) bool { return c.ID == b.Call })
				if m.Role != event.RoleUser || len(open) != n-1 {
					return bad(fmt.Sprintf("message %d has a result for a call that the message before it does not make", i))
				}
			}
		}
		if len(open) > 0 {
			return bad(fmt.Sprintf("call %q has no result", open[0].ID))
		}
		if m.Role == event.RoleAssistant {
			open = m.Calls()
		}
	}
	if in[len(in)-1].Role != event.RoleUser {
		return bad("the last one is not the user's")
	}
	// An empty answer, which other frameworks keep, says nothing to a model and is refused by providers.
	return slices.DeleteFunc(in, func(m event.Message) bool { return len(m.Content) == 0 }), nil, nil
}

// withoutBlanks leaves out blocks of blank text, which providers refuse. The caller's slices stay as they are.
func withoutBlanks(in []event.Message) []event.Message {
	blank := func(b event.Block) bool {
		t, ok := b.(*event.Text)
		return ok && t != nil && utf8.ValidString(t.Text) && strings.TrimSpace(t.Text) == ""
	}
	out := slices.Clone(in)
	for i := range out {
		if slices.ContainsFunc(out[i].Content, blank) {
			out[i].Content = slices.DeleteFunc(slices.Clone(out[i].Content), blank)
		}
	}
	return out
}
