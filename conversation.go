package braid

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Conversation is a handle on one event log. It keeps the state that is folded from the log between runs, so a turn
// costs the same however long the log is. Make it with [NewConversation] or [Open]. It is safe for concurrent use. One
// run at a time goes through it; a second one is refused with [event.ErrLocked], or with
// [event.ErrConflict] while the open one waits for an answer.
type Conversation struct{ log drive.Handle }

// NewConversation makes a conversation in memory. Its log is collected with it.
func NewConversation() *Conversation {
	// Its name stands in the idempotency keys of its tool calls, which must not
	// be those of another conversation.
	return &Conversation{log: drive.Handle{ID: "conversation-" + drive.NewID(), Store: &journal.Memory{}, Own: true}}
}

// Open returns a handle on a conversation in a store. The conversation need not exist: its first run creates it.
func Open(store journal.Store, id string) *Conversation {
	return &Conversation{log: drive.Handle{ID: id, Store: store}}
}

// ID is the conversation's id in its store.
func (c *Conversation) ID() string { return c.log.ID }

// BeforeCommit sets a function that is called with each batch of events before it is committed. What it adds to the
// batch, such as [journal.Batch].Usage, is written with the events or not at all. If it returns an error, the commit
// fails with it. If the outcome of a commit is unknown, the batch is filled again before it is repeated. Call
// BeforeCommit before the conversation is used; a later call replaces the function.
func (c *Conversation) BeforeCommit(fill func(ctx context.Context, l journal.Lease, b *journal.Batch) error) {
	c.log.Fill = fill
}

// Answer answers an open question of a waiting run. value is written as JSON; nil is an answer too. Each question is
// answered once. [Agent.Resume] then continues the run, in this process or in another one with the same store.
//
// The error is [event.ErrNotFound] if no open question has the token. It is [event.ErrInvalid] if the answer does not
// match the question's schema; the question stays open.
func (c *Conversation) Answer(ctx context.Context, token string, value any) error {
	return c.answer(ctx, Answer{Token: token, Value: value})
}

// AnswerAs is [Conversation.Answer] with the name of the user who answers.
func (c *Conversation) AnswerAs(ctx context.Context, by, token string, value any) error {
	return c.answer(ctx, Answer{Token: token, Value: value, By: by})
}

func (c *Conversation) answer(ctx context.Context, a Answer) error {
	value, err := answercheck.JSON(a.Value)
	if err != nil {
		return err
	}
	run := ""
	var asked event.Asked
	err = c.log.Look(ctx, func(v *fold.Conversation) {
		if !v.Open() {
			return
		}
		for _, q := range v.Run.OpenQuestions() {
			if q.Token == a.Token {
				run, asked = v.Run.ID, q.Asked
			}
		}
	})
	if err != nil {
		return err
	}
	if run == "" {
		return &event.Error{
			Op: "answer", Kind: event.ErrNotFound, Message: "no open question has this token",
			Hint: "look at the conversation's questions; each is answered once",
		}
	}
	if err := answercheck.Check(ctx, &asked, value); err != nil {
		return err
	}
	letter := journal.Mail{
		ID: "answer-" + a.Token, Run: run, Kind: journal.MailAnswer, Token: a.Token, Value: value, By: a.By,
	}
	err = c.log.Store.Post(ctx, letter)
	if err == nil {
		c.log.WakeDriver()
	}
	return err
}

// Questions lists the open questions of the conversation's waiting run.
func (c *Conversation) Questions(ctx context.Context) (open []Question, err error) {
	err = c.log.Look(ctx, func(v *fold.Conversation) {
		if v.Open() {
			open = v.Run.OpenQuestions()
		}
	})
	return open, err
}

// Messages lists what the model would see next: the messages of the session so far. Do not change them.
func (c *Conversation) Messages(ctx context.Context) (messages []event.Message, err error) {
	err = c.log.LookWhole(ctx, func(v *fold.Conversation) {
		messages = v.Past.Shared()
		if v.Open() {
			messages = v.Run.Scopes[0].Transcript.Shared()
		}
	})
	return messages, err
}

// State copies the conversation's state. Shared keys keep their prefix; Braid's own keys are left out.
func (c *Conversation) State(ctx context.Context) (state map[string]json.RawMessage, err error) {
	err = c.log.Look(ctx, func(v *fold.Conversation) { state = v.State.All() })
	return state, err
}

// Retryable returns the id of the run that [Agent.Resume] would continue with a new one: the newest run, if it failed
// after it had begun to work, or if a limit or its deadline ended it before its answer. It is empty if that run is
// open or complete, or if a user stopped it.
func (c *Conversation) Retryable(ctx context.Context) (run string, err error) {
	err = c.log.Look(ctx, func(v *fold.Conversation) {
		if v.Continuable() || v.Limited() {
			run = v.Run.ID
		}
	})
	return run, err
}

// Cancel asks for the open run to be cancelled. A running one stops its model and tools, a waiting one ends when it is
// resumed, and one that has not begun never begins. Without an open run Cancel does nothing.
func (c *Conversation) Cancel(ctx context.Context) error { return c.log.CancelRun(ctx) }

// Events reads the log after seq, in order. Do not change the events.
func (c *Conversation) Events(ctx context.Context, after int64) iter.Seq2[*event.Event, error] {
	return c.log.Events(ctx, after)
}
