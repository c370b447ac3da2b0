package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/sched"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
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
	conv       *Conversation
	into       *Result
	key        string
	executor   string
	metadata   map[string]string
	newSession bool
	tenant     string
	user       string
	state      map[string]any
	secrets    map[string]secret.Secret
	given      map[string]json.RawMessage
	policy     Policy
	want       *output.Form
	// run is the run to drive where it was admitted before; waits says that its
	// turn may have to be waited for, and work that an engine drives it.
	run   string
	waits bool
	work  *Work
	// private says that nobody else has the run's conversation.
	private bool
	// programs run the foreign programs that work in the place of agents, by the agents' names; nil for none.
	programs map[string]stepRunner
	// renewer renews the lease of a run whose log was read after it was taken; nil for none.
	renewer *leaseRenewer
}

// In runs in a conversation. Without it a run has one of its own; find it in
// Result.Conversation.
func In(c *Conversation) RunOption { return func(o *runOptions) { o.conv = c } }

// Into fills r when a stream ends, as [Agent.Run] would give it.
func Into(r *Result) RunOption { return func(o *runOptions) { o.into = r } }

// Key makes the run idempotent: a second run of the conversation with the same
// key and input is the first one; with another input it is refused with
// [event.ErrConflict].
func Key(key string) RunOption { return func(o *runOptions) { o.key = key } }

// Executor labels the run for logs and usage. It is no identity.
func Executor(label string) RunOption { return func(o *runOptions) { o.executor = label } }

// Metadata adds the caller's own labels.
func Metadata(m map[string]string) RunOption { return func(o *runOptions) { o.metadata = m } }

// NewSession begins a new stretch of the conversation: the log goes on, and the
// model sees nothing of what was before.
func NewSession() RunOption { return func(o *runOptions) { o.newSession = true } }

// For says whose conversation it is, where a store is shared: "app:" state
// belongs to the tenant, "user:" state to the user inside it.
func For(tenant, user string) RunOption {
	return func(o *runOptions) { o.tenant, o.user = tenant, user }
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
		if o.given, err = givenState(o.state); err != nil {
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
		o.conv, o.private = NewConversation(), o.into == nil
	}
	conv := o.conv
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
		o.run, o.waits, messages = sent.Run, true, nil
	}
	for {
		err := a.frozen.through(ctx, team, messages, o, r, sink)
		if !o.waits || !errors.Is(err, event.ErrLocked) || ctx.Err() != nil {
			return err
		}
		if a.frozen.endCancelled(ctx, team, conv) {
			continue
		}
		if err := conv.waitTurn(ctx, err); err != nil {
			return err
		}
	}
}

// endCancelled writes the end of a run that was cancelled and stands in the way,
// where nobody else does. It reports whether it did.
func (a *driveAgent) endCancelled(ctx context.Context, team map[string]*driveAgent, conv *Conversation) bool {
	open, err := conv.store.Queue(ctx, conv.id)
	if err != nil || len(open) == 0 || !open[0].Cancelled {
		return false
	}
	o := runOptions{conv: conv, run: open[0].ID, work: &Work{}}
	return a.through(ctx, team, nil, &o, nil, func(event.Event) bool { return true }) == nil
}

// through takes the handle and a run through it.
func (a *driveAgent) through(
	ctx context.Context, team map[string]*driveAgent, messages []event.Message, o *runOptions, r *Result,
	sink func(event.Event) bool,
) error {
	conv := o.conv
	o.private = o.private && ctx.Done() == nil
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lock := conv.lock
	if o.waits {
		lock = func(stop context.CancelFunc) error { return conv.lockWhenFree(ctx, stop) }
	}
	if err := lock(stop); err != nil {
		return err
	}
	kept := conv.warm
	defer func() { conv.unlock(kept) }()
	// A run that an engine drives is taken also where somebody has wished it to end:
	// its end is to be written. A process that is about to end takes nothing more.
	taking := ctx
	if o.work != nil && !errors.Is(context.Cause(ctx), event.ErrUnavailable) {
		taking = context.WithoutCancel(ctx)
	}
	v, unread := kept, kept == nil && o.work != nil
	switch {
	case unread:
		v = unreadView()
	case v == nil:
		var err error
		if v, err = conv.coldView(taking); err != nil {
			return err
		}
	}
	opened, err := a.open(taking, o, conv, v, messages)
	if opened.Run.Status.Ended() && o.work == nil {
		return replay(ctx, conv, opened.Run.ID, r, sink)
	}
	if err != nil {
		return err
	}
	// From here on the view may run ahead of the log, so it is kept only when
	// all went well.
	kept = nil
	conv.drives(opened.Run.ID)
	if unread && a.behindUnread(taking, stop, conv, &opened) {
		_, err = a.endUnread(taking, o, &opened, lostReading(&opened.Run), r, sink)
		return err
	}
	if why := a.limits.poisoned(&opened.Run); why != nil {
		ended, err := a.giveUp(ctx, o, &opened, why, r, sink)
		if err == nil && ended != nil && o.work == nil {
			return ended
		}
		return err
	}
	if unread {
		defer func() { o.renewer.close() }()
		if v, err = a.takeUnread(taking, stop, o, &opened, r, sink); v == nil {
			return err
		}
	}
	for _, e := range opened.Events {
		v.Add(e)
	}
	if v.Stale || v.Last != opened.Last {
		if v, err = conv.coldView(taking); err != nil {
			// Nobody need wait until the lease has run out.
			_ = conv.store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Release: true})
			return err
		}
	}
	if !v.SpentKnown && a.limits.Conversation != (Budget{}) {
		if v, err = conv.wholeView(taking); err != nil {
			_ = conv.store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Release: true})
			return err
		}
	}
	v.State.Share(opened.Shared)
	kept, err = a.take(ctx, stop, team, o, &opened, v, r, sink)
	return err
}

// take drives a run that was taken, on a view that has folded all of the log. It gives the view that
// is the conversation's then; nil where that may have run ahead of the log.
func (a *driveAgent) take(
	ctx context.Context, stop context.CancelFunc, team map[string]*driveAgent, o *runOptions, opened *journal.Opened, v *fold.Conversation, r *Result,
	sink func(event.Event) bool,
) (*fold.Conversation, error) {
	conv, private := o.conv, o.private
	if left, bounded := a.limits.timeLeft(v, opened.Run.ID); bounded {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, left)
		defer end()
		private = false
	}
	d := &driver{
		ctx: ctx, stop: stop, row: opened.Run, view: v, now: time.Now(),
		cfg: runConfig{
			agent: a, team: team, output: o.want, given: o.given, secrets: o.secrets, programs: o.programs,
			exclusive: conv.own, callerWaits: o.work == nil, unstoppable: private,
		},
		lease: runLease{conv: conv, held: opened.Lease, renewer: o.renewer, base: context.WithoutCancel(ctx)},
		inbox: inbox{wake: conv.wake},
		exec:  executor{order: sched.From(ctx)},
		out:   sender{sink: sink},
	}
	if o.work != nil {
		d.cfg.work, d.cfg.secrets = *o.work, o.work.Secrets
		d.inbox.engine = o.work.Mail
	}
	if len(d.cfg.secrets) > 0 {
		d.cfg.mask = maskOf(d.cfg.secrets, d.cfg.work.Shown)
		d.cfg.maskRules = maskGuard(d.cfg.mask)
	}
	undriven := errBrokenOff // until it is known better: a reader may panic
	if list := a.hooks.At(hooks.AfterDrive); len(list) > 0 {
		if r == nil {
			r = &Result{Conversation: conv}
		}
		defer func() { d.tellLeft(list, r, undriven) }()
	}
	over := false
	defer func() {
		if !over && o.work != nil { // the goroutine is being ended
			_ = a.brokenOff(ctx, o, opened, endedGoroutine("run", "a model, a hook or the reader"), r, func(event.Event) bool { return true })
		}
	}()
	undriven = d.drive(opened.Mail)
	over = true
	if d.phase == phaseCrashed {
		why, _ := errors.AsType[*event.Error](undriven)
		if d.out.reading {
			sink = func(event.Event) bool { return true }
		}
		if undriven = a.brokenOff(ctx, o, opened, why, r, sink); undriven == nil && o.work == nil {
			return nil, why
		}
		return nil, undriven
	}
	if undriven != nil {
		return nil, undriven
	}
	v = d.view // a compaction may have put another in its place
	d.report(r)
	if d.phase == phaseHandedBack && o.work == nil {
		return v, context.Cause(ctx)
	}
	if d.err != nil && o.work == nil {
		return v, d.err
	}
	return v, nil
}

// report tells the caller what the run came to; nil is told nothing.
func (d *driver) report(r *Result) {
	if r == nil {
		return
	}
	r.fill(d.view.Run, d.view.State, d.now)
	r.Partial, r.Simulated = d.partial, d.cfg.simulated
	switch d.phase {
	case phaseHandedBack:
		r.Status = event.RunRunning
		r.Stop, r.Why = "", ""
	case phaseParked:
		r.WakeAt = d.exec.wakeAt
	}
}

// simulated reports whether any model of the run follows a script.
func (a *driveAgent) simulated(team map[string]*driveAgent) bool {
	simulated := func(m Model) bool { return m.Info().Simulated }
	if slices.ContainsFunc(a.models(), simulated) {
		return true
	}
	for _, one := range team {
		if slices.ContainsFunc(one.models(), simulated) {
			return true
		}
	}
	return false
}

// open takes the run that is to be driven: a new one for new input, the one that
// was asked for, or the conversation's open one. Where that run is over,
// the answer is its row and an error.
func (a *driveAgent) open(
	ctx context.Context, o *runOptions, conv *Conversation, v *fold.Conversation, messages []event.Message,
) (journal.Opened, error) {
	var opened journal.Opened
	take := func() (err error) {
		opened, err = conv.acquire(ctx, o.run, v.Last)
		return err
	}
	switch {
	case o.run != "":
	case messages == nil && v.Open():
		o.run = v.Run.ID
		defer func() { o.run = "" }()
	case messages == nil && !v.Unanswered() && !v.Continuable():
		return journal.Opened{}, &event.Error{
			Op: "resume", Kind: event.ErrConflict, Message: "the conversation has no open run",
			Hint: "begin one with Run",
		}
	case messages != nil && v.Open() && o.key == "":
		return journal.Opened{}, &event.Error{
			Op: "run", Kind: event.ErrConflict, Message: "the conversation's last run is not over",
			Hint: "answer its questions and Resume it, or Cancel and Resume it; braid.During says what else may be done",
		}
	default:
		row := a.row(o, conv, messages)
		row.Alone = true
		if messages == nil && v.Continuable() {
			row.Metadata = maps.Clone(row.Metadata)
			if row.Metadata == nil {
				row.Metadata = make(map[string]string, 1)
			}
			row.Metadata[journal.ContinuesLabel] = v.Run.ID
		}
		take = func() (err error) {
			opened, err = conv.store.Start(ctx, row, v.Last)
			return err
		}
	}
	err := conv.pastWithdrawn(ctx, take(), take)
	if err != nil && o.run == "" && opened.Run.Status == event.RunQueued && o.key == "" {
		conv.withdraw(context.WithoutCancel(ctx), opened.Run.ID)
	}
	return opened, err
}

// replay gives the events and the result of a run that is over: the answer to a
// repeated idempotency key.
func replay(ctx context.Context, conv *Conversation, run string, r *Result, sink func(event.Event) bool) error {
	v := fold.New(nil)
	for e, err := range conv.Events(ctx, 0) {
		if err != nil {
			return err
		}
		v.Add(e)
		if e.Run != run {
			continue
		}
		if r != nil {
			r.Simulated = e.Simulated
		}
		if !sink(*e) {
			return nil
		}
		ended, ok := e.Body.(*event.RunEnded)
		if !ok {
			continue
		}
		if r != nil {
			r.fill(v.Run, v.State, e.Time)
		}
		if ended.Err != nil {
			return ended.Err
		}
		return nil
	}
	return &event.Error{
		Op: "run", Kind: event.ErrInternal, Message: "the run is over, but the log does not hold its end",
		Hint: "look at the conversation's events",
	}
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
		if hasNil(m.Content) {
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
