package braid

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/journal"
)

// Conversation is a handle on one event log. It keeps the log's fold warm
// between runs, so that a turn costs the same however long the log is. Make it
// with [NewConversation] or [Open]. It is safe for concurrent use; one run at a
// time goes through a handle, a second one is refused with [event.ErrLocked].
type Conversation struct {
	id    string
	store journal.Store
	// own is set where nobody else writes to the store.
	own bool

	mu     sync.Mutex
	busy   bool
	cancel context.CancelFunc
	runs   int
	// warm is the fold as of its last Seq; nil means that it must be made anew.
	warm *view
}

// NewConversation begins a conversation in memory. Its log is its own and is
// collected with it.
func NewConversation() *Conversation {
	// Its name stands in the idempotency keys of its tool calls, which must not
	// be those of another conversation.
	return &Conversation{id: "conversation-" + newID(), store: &journal.Memory{}, own: true}
}

// Open gives a handle on a conversation in a store. It need not exist yet: its
// first run makes it.
func Open(store journal.Store, id string) *Conversation {
	return &Conversation{id: id, store: store}
}

// ID is the conversation's id in its store.
func (c *Conversation) ID() string { return c.id }

// lock takes the handle for one run.
func (c *Conversation) lock(cancel context.CancelFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return &event.Error{
			Op: "run", Kind: event.ErrLocked, Message: "the conversation is busy with another run",
			Hint: "wait for it, or begin another conversation",
		}
	}
	c.busy, c.cancel = true, cancel
	return nil
}

func (c *Conversation) unlock(warm *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if warm != nil && warm.stale {
		warm = nil
	}
	c.busy, c.cancel, c.warm = false, nil, warm
}

// newRun names a run: in a log of one's own by counting, in a shared store at
// random.
func (c *Conversation) newRun() string {
	if c.own {
		c.runs++
		return "run-" + itoa(c.runs)
	}
	return "run-" + rand.Text()
}

// look shows f the fold: the warm one where it is up to date and no run goes on,
// and one made from the log otherwise. What f takes out of it must not change
// when a run goes on later.
func (c *Conversation) look(ctx context.Context, f func(*view)) error {
	c.mu.Lock()
	warm, busy := c.warm, c.busy
	last := int64(0)
	if warm != nil && !busy {
		last = warm.last
	}
	c.mu.Unlock()
	if warm != nil && !busy {
		events, err := c.store.Read(ctx, c.id, last, 1)
		if err != nil {
			return err
		}
		c.mu.Lock()
		if len(events) == 0 && c.warm == warm && !c.busy && warm.last == last {
			defer c.mu.Unlock()
			f(warm)
			return nil
		}
		c.mu.Unlock()
	}
	v, err := c.coldView(ctx)
	if err != nil {
		return err
	}
	f(v)
	return nil
}

// coldView folds the log anew.
func (c *Conversation) coldView(ctx context.Context) (*view, error) {
	events, err := c.store.Read(ctx, c.id, 0, 0)
	if err != nil {
		return nil, err
	}
	return newView(events), nil
}

// Answer answers an open question of a waiting run. value is written as JSON; nil
// is an answer too. It is accepted once; the run goes on with [Agent.Resume], here
// or in any process that opens the same log. An unknown token, or one that
// has been answered, is [event.ErrNotFound].
func (c *Conversation) Answer(ctx context.Context, token string, value any) error {
	return c.answer(ctx, Answer{Token: token, Value: value})
}

func (c *Conversation) answer(ctx context.Context, a Answer) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a.Value); err != nil {
		return &event.Error{
			Op: "answer", Kind: event.ErrInvalid, Message: "the answer cannot be written as JSON",
			Hint: "use types that encoding/json knows", Err: err,
		}
	}
	if err := strictjson.Check(bytes.TrimSpace(buf.Bytes()), strictjson.DefaultDepth); err != nil {
		return unfitJSON("answer", err)
	}
	run := ""
	err := c.look(ctx, func(v *view) {
		if v.open() && slices.ContainsFunc(v.run.openQuestions(), func(q Question) bool { return q.Token == a.Token }) {
			run = v.run.id
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
	return c.store.Post(ctx, journal.Mail{
		ID: "answer-" + a.Token, Run: run, Kind: journal.MailAnswer, Token: a.Token,
		Value: bytes.TrimSpace(buf.Bytes()), By: a.By,
	})
}

// Cancel asks for the open run to be cancelled: a running one stops its model and
// tools, a waiting one ends when it is resumed. Without an open run it does nothing.
func (c *Conversation) Cancel(ctx context.Context) error {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
		return nil
	}
	run := ""
	err := c.look(ctx, func(v *view) {
		if v.open() {
			run = v.run.id
		}
	})
	if err != nil || run == "" {
		return err
	}
	return c.store.Post(ctx, journal.Mail{ID: "cancel-" + run, Run: run, Kind: journal.MailCancel})
}

// newID is a random name. It is no secret.
func newID() string {
	return strconv.FormatUint(mathrand.Uint64(), 36) + strconv.FormatUint(mathrand.Uint64(), 36) //nolint:gosec // no secret
}

// withdraw marks a run that was admitted and could not be taken: its caller is
// told so, and it must not begin later, nor stand in the way of others.
func (c *Conversation) withdraw(ctx context.Context, run string) {
	// Where the store cannot be reached for this either, nothing can be done.
	_ = c.store.Post(ctx, journal.Mail{ID: "cancel-" + run, Run: run, Kind: journal.MailCancel})
}

// endWithdrawn ends the runs at the head of the conversation's queue that were
// withdrawn, without their input: nobody is told about them. It reports whether
// there were any.
func (c *Conversation) endWithdrawn(ctx context.Context) bool {
	ended := false
	for {
		due, err := c.store.Due(ctx, 0)
		i := slices.IndexFunc(due, func(r journal.Run) bool {
			return r.Conversation == c.id && r.Status == event.RunQueued && r.Cancelled
		})
		if err != nil || i < 0 {
			return ended
		}
		run := due[i]
		opened, err := c.store.Acquire(ctx, run.ID, math.MaxInt64)
		if err != nil {
			return ended
		}
		head := event.Header{
			Seq: opened.Last + 1, Conversation: c.id, Run: run.ID, Author: event.UserAuthor, Time: time.Now(),
		}
		begun := &event.Event{Header: head, Body: &event.RunStarted{Agent: run.Agent, Turn: run.Turn}}
		head.Seq++
		b := journal.Batch{Status: event.RunCancelled, Events: []*event.Event{begun, {Header: head, Body: &event.RunEnded{
			Status: event.RunCancelled, Stop: event.StopCancelled, Why: event.WhyCancelled,
			Err: &event.Error{Op: "run", Kind: event.ErrCancelled, Message: "the run was withdrawn before it began"},
		}}}}
		for i := range opened.Mail {
			b.Read = append(b.Read, opened.Mail[i].ID)
		}
		if err := c.store.Commit(ctx, opened.Lease, b); err != nil {
			return ended
		}
		ended = true
	}
}

// Questions lists what the conversation's waiting run wants to know.
func (c *Conversation) Questions(ctx context.Context) (open []Question, err error) {
	err = c.look(ctx, func(v *view) {
		if v.open() {
			open = v.run.openQuestions()
		}
	})
	return open, err
}

// Messages lists what the model would see next: the whole session so far.
// Nothing in it is to be changed.
func (c *Conversation) Messages(ctx context.Context) (messages []event.Message, err error) {
	err = c.look(ctx, func(v *view) {
		messages = v.past.shared()
		if v.open() {
			messages = v.run.scopes[0].talk.shared()
		}
	})
	return messages, err
}

// State copies the conversation's state, shared keys with their prefix.
func (c *Conversation) State(ctx context.Context) (state map[string]json.RawMessage, err error) {
	err = c.look(ctx, func(v *view) { state = v.state.all() })
	return state, err
}

// Events reads the log after seq, in order. Nothing in it is to be changed.
func (c *Conversation) Events(ctx context.Context, after int64) iter.Seq2[*event.Event, error] {
	const page = 256
	return func(yield func(*event.Event, error) bool) {
		for {
			events, err := c.store.Read(ctx, c.id, after, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(events) < page {
				return
			}
		}
	}
}
