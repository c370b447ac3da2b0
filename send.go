package braid

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Policy says what happens to a message while a run of its conversation is open. If none is open, every policy begins
// a run.
type Policy string

// The policies, with the field's names.
const (
	// Reject refuses the message with [event.ErrLocked], or [Agent.Run] with [event.ErrConflict] while the open run waits
	// for an answer. It is the default.
	Reject Policy = "reject"
	// Queue admits a run behind the open one.
	Queue Policy = "queue"
	// Steer leaves the message to the open run, whose root agent sees it with its next model call. It never answers a
	// question: a waiting run keeps waiting and sees the message afterwards. If the run ends without another model call,
	// the next queued run gets the message, or the store admits a run for it. An engine drives that run; without an
	// engine the next [Agent.Run] or [Agent.Resume] does.
	Steer Policy = "steer"
	// Interrupt admits a run and cancels those before it.
	Interrupt Policy = "interrupt"
)

// During says what happens to the input if a run of the conversation is open. With any policy but [Reject],
// [Agent.Run] waits until the run that answers the input has ended or waits for an answer. That is a new run, or the
// one that the input joined.
func During(p Policy) SendOption { return sendOption(func(o *runOptions) { o.beside.policy = p }) }

// Sent says what happened to a message.
type Sent struct {
	// Run is the run that will answer the message. Turn is its number, or 0 if it is unknown.
	Run  string
	Turn int
	// Status is that run's status when the message was accepted.
	Status event.RunStatus
	// Joined says that the message was left to a run that was already open.
	Joined bool
	// Interrupted are the runs that were asked to end.
	Interrupted []string
}

// Send accepts input without driving it, for programs that drive runs elsewhere, with an engine or with [Agent.Drive].
// Accepted input is in the store and is shown to the model once, whatever crashes. With [Key] the call may be
// repeated. The policy is that of [During].
func (a *Agent) Send(ctx context.Context, conv *Conversation, input string, opts ...SendOption) (Sent, error) {
	if _, err := a.team(); err != nil {
		return Sent{}, err
	}
	o := options(opts)
	messages, err := o.input(input)
	if err == nil {
		err = a.prepare(o)
	}
	if err != nil {
		return Sent{}, err
	}
	return a.send(ctx, o, conv, messages)
}

func (a *Agent) send(ctx context.Context, o *runOptions, conv *Conversation, messages []event.Message) (Sent, error) {
	o.Log = &conv.log
	row := a.frozen.Row(&o.Request, messages)
	switch o.beside.policy {
	case Reject, "":
		row.Alone = true
		return conv.admit(ctx, row)
	case Queue:
		return conv.admit(ctx, row)
	case Interrupt:
		return conv.interrupt(ctx, row)
	case Steer:
		return conv.steer(ctx, row)
	default:
		return Sent{}, &event.Error{
			Op: "send", Kind: event.ErrInvalid, Message: "there is no policy " + strconv.Quote(string(o.beside.policy)),
			Hint: "use reject, queue, steer or interrupt",
		}
	}
}

func (c *Conversation) admit(ctx context.Context, row journal.Run) (Sent, error) {
	var run journal.Run
	admit := func() (err error) {
		run, err = c.log.Store.Admit(ctx, row)
		return err
	}
	if err := c.log.PastWithdrawn(ctx, admit(), admit); err != nil {
		return Sent{}, err
	}
	return Sent{Run: run.ID, Turn: run.Turn, Status: run.Status}, nil
}

// interrupt admits the run first: a crash between the two leaves a message that
// waits, not a run that was cancelled for nothing.
func (c *Conversation) interrupt(ctx context.Context, row journal.Run) (Sent, error) {
	sent, err := c.admit(ctx, row)
	if err != nil || sent.Status.Ended() {
		return sent, err
	}
	open, err := c.log.Store.Queue(ctx, c.log.ID)
	if err != nil {
		return Sent{}, err
	}
	for _, run := range open {
		// Said again under its key, it finds later runs, which are none of its business.
		if run.ID == sent.Run || run.Turn > sent.Turn {
			break
		}
		err := c.log.Store.Post(ctx, journal.Mail{ID: "cancel-" + run.ID, Run: run.ID, Kind: journal.MailCancel})
		if err != nil && !errors.Is(err, event.ErrConflict) { // it has ended meanwhile
			return Sent{}, err
		}
		sent.Interrupted = append(sent.Interrupted, run.ID)
	}
	c.log.WakeDriver()
	return sent, nil
}

// steer leaves a message for the open run, or begins one where there is none.
func (c *Conversation) steer(ctx context.Context, row journal.Run) (Sent, error) {
	if len(row.Input) != 1 {
		return Sent{}, &event.Error{
			Op: "send", Kind: event.ErrInvalid, Message: "a history cannot join a run",
			Hint: "send one message, or queue it",
		}
	}
	if row.Input[0].Role != event.RoleUser {
		return Sent{}, &event.Error{
			Op: "send", Kind: event.ErrInvalid, Message: "only a user's message can join a run",
			Hint: "send a message of the user, or queue it",
		}
	}
	letter := journal.Mail{
		ID: "message-" + row.ID, Kind: journal.MailMessage, Message: row.Input[0].Content, By: row.User,
	}
	if row.Key != "" {
		letter.ID = journal.LetterID(row.Key)
	}
	row.Alone = true
	// A run may end between the question and the letter, but not for ever.
	for {
		if row.Key != "" {
			if sent, ok, err := c.delivered(ctx, letter); ok || err != nil {
				return sent, err
			}
		}
		sent, err := c.admit(ctx, row)
		if !errors.Is(err, event.ErrLocked) {
			return sent, err
		}
		open, err := c.log.Store.Queue(ctx, c.log.ID)
		if err != nil {
			return Sent{}, err
		}
		if len(open) == 0 {
			continue
		}
		if row.Key != "" {
			// Whoever asks again under the key elsewhere may have begun a run for it
			// before this one was opened. After that he cannot, while it is open.
			if sent, err := c.admit(ctx, row); !errors.Is(err, event.ErrLocked) {
				return sent, err
			}
		}
		if err := keeps(&open[0], row.Metadata[journal.SettingsLabel]); err != nil {
			return Sent{}, err
		}
		letter.Run = open[0].ID
		err = c.log.Store.Post(ctx, letter)
		switch {
		case err == nil:
			c.log.WakeDriver()
			return Sent{Run: open[0].ID, Turn: open[0].Turn, Status: open[0].Status, Joined: true}, nil
		case !errors.Is(err, event.ErrConflict):
			return Sent{}, err
		}
		if still, lookErr := c.log.Store.Queue(ctx, c.log.ID); lookErr != nil {
			return Sent{}, lookErr
		} else if len(still) > 0 && still[0].ID == letter.Run {
			return Sent{}, err // it is the key's fault: it said something else before
		}
	}
}

// delivered finds out whether a letter has entered the log, or was left for a run
// that has ended since: then sending it again must not leave another one.
func (c *Conversation) delivered(ctx context.Context, letter journal.Mail) (Sent, bool, error) {
	last, by, tail := "", "", false
	if err := c.log.Look(ctx, func(v *fold.Conversation) {
		if by, tail = v.Mail[letter.ID], v.Partial; v.Run != nil && v.Run.Ended != nil {
			last = v.Run.ID
		}
	}); err != nil {
		return Sent{}, false, err
	}
	if by == "" && tail {
		var err error
		if by, err = c.log.Store.Entered(ctx, c.log.ID, letter.ID); err != nil {
			return Sent{}, false, err
		}
	}
	if letter.Run = cmp.Or(by, last); letter.Run == "" {
		return Sent{}, false, nil
	}
	err := c.log.Store.Post(ctx, letter)
	if errors.Is(err, event.ErrConflict) && by == "" {
		return Sent{}, false, nil
	}
	return Sent{Run: letter.Run, Joined: true}, err == nil, err
}
