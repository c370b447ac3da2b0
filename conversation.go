package braid

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Conversation is a handle on one event log. It keeps the log's fold warm
// between runs, so that a turn costs the same however long the log is. Make it
// with [NewConversation] or [Open]. It is safe for concurrent use; one run at a
// time goes through a handle, a second one is refused with [event.ErrLocked].
type Conversation struct {
	id    string
	store journal.Store
	// fill completes each batch before its commit; nil adds nothing.
	fill func(context.Context, journal.Lease, *journal.Batch) error
	// own is set where nobody else writes to the store.
	own bool

	mu     sync.Mutex
	busy   bool
	cancel context.CancelFunc
	// run is the one that goes through the handle now.
	run string
	// wake has something in it when mail was left here for the run.
	wake chan struct{}
	// freed is closed when the handle is given back.
	freed chan struct{}
	runs  int
	// warm is the fold as of its last Seq; nil means that it must be made anew.
	warm *fold.Conversation
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

// BeforeCommit has fill called with each batch of events before it is committed under the lease, so that what it
// adds, such as [journal.Batch].Usage, is written with the events or not at all. An error of fill is the commit's.
// A commit of unknown outcome is filled again when it is repeated. Call BeforeCommit before the conversation is
// used; a later call takes the place of an earlier one.
func (c *Conversation) BeforeCommit(fill func(ctx context.Context, l journal.Lease, b *journal.Batch) error) {
	c.fill = fill
}

// commit writes a batch with events.
func (c *Conversation) commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if c.fill != nil && len(b.Events) > 0 {
		return c.commitFilled(ctx, l, b)
	}
	return c.store.Commit(ctx, l, b)
}

func (c *Conversation) commitFilled(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if err := c.fill(ctx, l, &b); err != nil {
		return err
	}
	return c.store.Commit(ctx, l, b)
}

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
	c.take(cancel)
	return nil
}

func (c *Conversation) take(cancel context.CancelFunc) {
	c.busy, c.cancel = true, cancel
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
}

// lockWhenFree takes the handle for one run as soon as the one before is done.
func (c *Conversation) lockWhenFree(ctx context.Context, cancel context.CancelFunc) error {
	for {
		c.mu.Lock()
		if !c.busy {
			c.take(cancel)
			c.mu.Unlock()
			return nil
		}
		if c.freed == nil {
			c.freed = make(chan struct{})
		}
		freed := c.freed
		c.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return stopped("run", ctx)
		}
	}
}

// drives notes which run goes through the handle.
func (c *Conversation) drives(run string) {
	c.mu.Lock()
	c.run = run
	c.mu.Unlock()
}

// wakeDriver tells the driver of this process that there is mail.
func (c *Conversation) wakeDriver() {
	c.mu.Lock()
	wake := c.wake
	c.mu.Unlock()
	if wake != nil {
		notify(wake)
	}
}

func (c *Conversation) unlock(warm *fold.Conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if warm != nil && warm.Stale {
		warm = nil
	}
	c.busy, c.cancel, c.warm, c.run = false, nil, warm, ""
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
}

// newRun names a run: in a log of one's own by counting, in a shared store at
// random.
func (c *Conversation) newRun() string {
	if c.own {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.runs++
		return "run-" + itoa(c.runs)
	}
	return "run-" + rand.Text()
}

// look shows f the fold: the warm one where it is up to date and no run goes on,
// and one made from the log otherwise. What f takes out of it must not change
// when a run goes on later.
func (c *Conversation) look(ctx context.Context, f func(*fold.Conversation)) error {
	c.mu.Lock()
	warm, busy := c.warm, c.busy
	last := int64(0)
	if warm != nil && !busy {
		last = warm.Last
	}
	c.mu.Unlock()
	if warm != nil && !busy {
		events, err := c.store.Read(ctx, c.id, last, 1)
		if err != nil {
			return err
		}
		c.mu.Lock()
		if len(events) == 0 && c.warm == warm && !c.busy && warm.Last == last {
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

// coldView folds the log anew: as much of it as is still needed, where the store
// knows how much that is.
func (c *Conversation) coldView(ctx context.Context) (*fold.Conversation, error) {
	tail, err := readTail(ctx, c.store, c.id)
	if err != nil {
		return nil, err
	}
	return fold.FromTail(foldable(&tail), false), nil
}

// foldable is the end of a log as a view takes it.
func foldable(t *journal.Tail) *fold.Tail {
	return &fold.Tail{First: t.First, Last: t.Last, Events: t.Events, Session: t.Session, Begin: t.Begin, State: t.State}
}

// wholeView folds the whole log.
func (c *Conversation) wholeView(ctx context.Context) (*fold.Conversation, error) {
	events, err := c.store.Read(ctx, c.id, 0, 0)
	if err != nil {
		return nil, err
	}
	return fold.New(events), nil
}

// readTail reads as much of a log as is still needed.
func readTail(ctx context.Context, store journal.Store, conversation string) (journal.Tail, error) {
	tail, err := store.Tail(ctx, conversation)
	if err != nil {
		return tail, err
	}
	return withContinued(ctx, store, conversation, tail)
}

// Answer answers an open question of a waiting run. value is written as JSON; nil
// is an answer too. It is accepted once; the run goes on with [Agent.Resume], here
// or in any process that opens the same log. An unknown token, or one that
// has been answered, is [event.ErrNotFound]; an answer that does not keep to the question's
// schema is [event.ErrInvalid], and the question stays open.
func (c *Conversation) Answer(ctx context.Context, token string, value any) error {
	return c.answer(ctx, Answer{Token: token, Value: value})
}

// AnswerAs is [Conversation.Answer] for who knows who answers.
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
	err = c.look(ctx, func(v *fold.Conversation) {
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
	err = c.store.Post(ctx, letter)
	if err == nil {
		c.wakeDriver()
	}
	return err
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
	err := c.look(ctx, func(v *fold.Conversation) {
		if v.Open() {
			run = v.Run.ID
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

// pastWithdrawn does again what was refused because another run is open, if that was
// a run that nobody wants any more.
func (c *Conversation) pastWithdrawn(ctx context.Context, refused error, again func() error) error {
	if !errors.Is(refused, event.ErrLocked) {
		return refused
	}
	switch ended, err := c.endWithdrawn(context.WithoutCancel(ctx)); {
	case ended:
		return again()
	case err != nil && !errors.Is(err, event.ErrLocked) && !errors.Is(err, event.ErrLeaseLost):
		return err
	default:
		return refused
	}
}

// withdraw marks a run that was admitted and could not be taken: its caller is
// told so, and it must not begin later, nor stand in the way of others.
func (c *Conversation) withdraw(ctx context.Context, run string) {
	// Where the store cannot be reached for this either, nothing can be done.
	_ = c.store.Post(ctx, journal.Mail{ID: withdrawn + run, Run: run, Kind: journal.MailCancel})
}

// withdrawn begins the id of the letter that withdraws a run.
const withdrawn = "withdraw-"

// endWithdrawn ends the runs at the head of the conversation's queue that were
// withdrawn, without their input: nobody is told about them. It reports whether
// there were any, and what kept it from ending one.
func (c *Conversation) endWithdrawn(ctx context.Context) (bool, error) {
	ended := false
	for {
		open, err := c.store.Queue(ctx, c.id)
		if err != nil || len(open) == 0 || open[0].Status != event.RunQueued || !open[0].Cancelled {
			return ended, err
		}
		run := open[0]
		opened, err := c.store.Acquire(ctx, run.ID, math.MaxInt64)
		if errors.Is(err, event.ErrConflict) {
			ended = true // somebody else was quicker
			continue
		}
		if err != nil {
			return ended, err
		}
		b := journal.Batch{Release: true}
		if isWithdrawn(opened.Mail) {
			b = endOfWithdrawn(&opened)
		}
		if err := c.commit(ctx, opened.Lease, b); err != nil || b.Status == "" {
			return ended, err
		}
		ended = true
	}
}

func isWithdrawn(letters []journal.Mail) bool {
	return slices.ContainsFunc(letters, func(m journal.Mail) bool { return strings.HasPrefix(m.ID, withdrawn) })
}

// endOfWithdrawn is the whole log of a run that was withdrawn before it began.
func endOfWithdrawn(o *journal.Opened) journal.Batch {
	head := event.Header{
		Seq: o.Last + 1, Conversation: o.Run.Conversation, Run: o.Run.ID, Author: event.UserAuthor, Time: time.Now(),
	}
	begun := &event.Event{Header: head, Body: &event.RunStarted{Agent: o.Run.Agent, Turn: o.Run.Turn}}
	head.Seq++
	b := journal.Batch{Status: event.RunCancelled, Events: []*event.Event{begun, {Header: head, Body: &event.RunEnded{
		Status: event.RunCancelled, Stop: event.StopCancelled, Why: event.WhyCancelled, CostNanoUSD: new(int64),
		Err: &event.Error{Op: "run", Kind: event.ErrCancelled, Message: "the run was withdrawn before it began"},
	}}}}
	for i := range o.Mail {
		if o.Mail[i].Kind != journal.MailMessage {
			b.Read = append(b.Read, o.Mail[i].ID)
		}
	}
	return b
}

// Questions lists what the conversation's waiting run wants to know.
func (c *Conversation) Questions(ctx context.Context) (open []Question, err error) {
	err = c.look(ctx, func(v *fold.Conversation) {
		if v.Open() {
			open = v.Run.OpenQuestions()
		}
	})
	return open, err
}

// Messages lists what the model would see next: the whole session so far.
// Nothing in it is to be changed.
func (c *Conversation) Messages(ctx context.Context) (messages []event.Message, err error) {
	err = c.look(ctx, func(v *fold.Conversation) {
		messages = v.Past.Shared()
		if v.Open() {
			messages = v.Run.Scopes[0].Transcript.Shared()
		}
	})
	return messages, err
}

// State copies the conversation's state, shared keys with their prefix, without those that
// are Braid's own.
func (c *Conversation) State(ctx context.Context) (state map[string]json.RawMessage, err error) {
	err = c.look(ctx, func(v *fold.Conversation) { state = v.State.All() })
	return state, err
}

// Events reads the log after seq, in order. Nothing in it is to be changed.
func (c *Conversation) Events(ctx context.Context, after int64) iter.Seq2[*event.Event, error] {
	const page, bytes = 256, 4 << 20
	return func(yield func(*event.Event, error) bool) {
		for {
			events, more, err := c.store.ReadPage(ctx, c.id, after, page, bytes)
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
			if !more {
				return
			}
		}
	}
}
