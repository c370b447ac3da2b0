package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Whatever drives do, whoever wakes, cancels or admits beside the engine, and
// however often the process goes: every run comes to its end once there is
// mail for those that wait, every message is read once, be it by a run that the
// journal made for it, and then the engine holds nothing any more.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			rng:     rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed"))),
			steps:   rapid.IntRange(1, 80).Draw(rt, "steps"),
			running: rapid.IntRange(1, 4).Draw(rt, "running"),
			backlog: rapid.SampledFrom([]int{2, 10, 1000}).Draw(rt, "backlog"),
			talks:   rapid.IntRange(1, 6).Draw(rt, "conversations"),
			at:      map[string]int{}, messages: map[string]int{},
		}
		synctest.Test(t, func(t *testing.T) { w.play(t.Context()) })
		if w.err != nil {
			for _, line := range w.said {
				rt.Log(line)
			}
			rt.Fatal(w.err)
		}
	})
}

type world struct {
	rng                            *rand.Rand
	steps, running, backlog, talks int

	store journal.Memory
	local *engine.Local

	mu   sync.Mutex
	err  error
	said []string
	rows []journal.Run
	// messages are those that were posted, and how often each was read.
	messages map[string]int
	// kind says that drives do nothing odd any more.
	kind bool
	// at counts the drives that have a lease, in all and by conversation.
	at map[string]int
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) choose(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

func (w *world) open(ctx context.Context) {
	w.local = engine.NewLocal(&w.store, w.drive, engine.Options{
		Running: w.running, Backlog: w.backlog, Grace: 100 * time.Millisecond,
		Share: func(string) engine.Share { return engine.Share{Weight: 1 + w.talks%3} },
	})
	if err := w.local.Start(ctx); err != nil {
		w.fail(err)
	}
}

func (w *world) play(ctx context.Context) {
	w.open(ctx)
	for range w.steps {
		w.act(ctx)
		time.Sleep(time.Duration(w.choose(50)) * time.Millisecond)
	}
	w.mu.Lock()
	w.kind = true
	w.mu.Unlock()
	// Whoever waits is answered, again and again, and everything ends.
	for i := 0; i < 40 && !w.over(ctx); i++ {
		for _, r := range w.left(ctx) {
			err := w.store.Post(ctx, journal.Mail{ID: fmt.Sprint("mail ", i), Run: r.ID, Kind: journal.MailAnswer})
			if err != nil && !errors.Is(err, event.ErrConflict) {
				w.fail(err)
			}
		}
		time.Sleep(10 * time.Second)
	}
	if !w.over(ctx) {
		due, _ := w.store.Due(ctx, 0)
		w.fail(fmt.Errorf("not every run has ended; due are %d", len(due)))
	}
	w.mu.Lock()
	read := maps.Clone(w.messages)
	w.mu.Unlock()
	for id, n := range read {
		if n != 1 {
			w.fail(fmt.Errorf("%s was read %d times", id, n))
		}
	}
	time.Sleep(2 * time.Minute) // what was to be tried again has been
	if got := w.local.Held(); got != 0 {
		w.fail(fmt.Errorf("the engine still holds %d runs, tenants or conversations", got))
	}
	if err := w.local.Drain(ctx); err != nil {
		w.fail(err)
	}
}

func (w *world) over(ctx context.Context) bool {
	for _, r := range w.rows {
		row, err := w.store.Admit(ctx, r)
		if err != nil {
			w.fail(err)
		}
		if !row.Status.Ended() {
			return false
		}
	}
	return len(w.left(ctx)) == 0
}

// left is the runs that have not ended, those that the journal made among them.
func (w *world) left(ctx context.Context) []journal.Run {
	var left []journal.Run
	for talk := range w.talks {
		queue, err := w.store.Queue(ctx, fmt.Sprint("talk ", talk))
		if err != nil {
			w.fail(err)
		}
		left = append(left, queue...)
	}
	return left
}

func (w *world) act(ctx context.Context) {
	what := w.choose(12)
	if len(w.rows) == 0 {
		what = 0
	}
	switch what {
	case 0, 1, 2, 3, 4:
		id := fmt.Sprint(len(w.rows))
		talk := w.choose(w.talks)
		r := journal.Run{ID: id, Conversation: fmt.Sprint("talk ", talk), Tenant: fmt.Sprint("tenant ", talk%3)}
		if what == 4 {
			w.say("admit %s in %s", id, r.Conversation)
			if _, err := w.store.Admit(ctx, r); err != nil {
				w.fail(err)
			}
			w.rows = append(w.rows, r)
			return
		}
		_, err := w.local.Submit(ctx, r)
		w.say("submit %s in %s: %v", id, r.Conversation, err)
		if err == nil {
			w.rows = append(w.rows, r)
		} else if !errors.Is(err, event.ErrBacklogFull) {
			w.fail(err)
		}
	case 5, 6, 7, 8:
		r := w.rows[w.choose(len(w.rows))]
		if w.choose(2) == 0 {
			r.Turn = 0
		}
		m := journal.Mail{ID: fmt.Sprint("early ", w.choose(1000)), Run: r.ID, Kind: journal.MailAnswer}
		if w.choose(2) == 0 {
			m.ID, m.Kind = fmt.Sprint("message ", len(w.messages)), journal.MailMessage
		}
		err := w.store.Post(ctx, m)
		w.say("%s for %s: %v", m.ID, r.ID, err)
		if err == nil && m.Kind == journal.MailMessage {
			w.mu.Lock()
			w.messages[m.ID] += 0
			w.mu.Unlock()
		}
		if w.choose(3) > 0 {
			w.say("wake %s", r.ID)
			_ = w.local.Wake(ctx, r)
		}
	case 9:
		r := w.rows[w.choose(len(w.rows))]
		err := w.local.Cancel(ctx, r, "somebody")
		w.say("cancel %s: %v", r.ID, err)
		if err != nil && !errors.Is(err, event.ErrConflict) {
			w.fail(err)
		}
	case 10:
		time.Sleep(time.Duration(w.choose(5)) * time.Second)
	case 11:
		w.say("the process goes")
		if err := w.local.Drain(ctx); err != nil {
			w.fail(err)
		}
		w.open(ctx)
	}
}

// drive does anything that a driver might.
func (w *world) drive(ctx context.Context, work engine.Work) (engine.Outcome, error) {
	base := context.WithoutCancel(ctx)
	what := w.choose(14)
	w.mu.Lock()
	kind := w.kind
	w.mu.Unlock()
	if kind {
		what = 99
	}
	switch what {
	case 0:
		return engine.Outcome{}, errors.New("no luck")
	case 1:
		return engine.Outcome{}, errors.New(work.Run.Conversation[100:])
	}
	opened, err := w.store.Acquire(base, work.Run.ID, 0)
	w.say("take %s (%d): %v", work.Run.ID, what, err)
	if err != nil {
		return engine.Outcome{}, err
	}
	w.enter(opened.Run, 1)
	defer w.enter(opened.Run, -1)
	if !kind {
		select {
		case <-time.After(time.Duration(w.choose(100)) * time.Millisecond):
		case <-ctx.Done():
			what = 3
		}
	}
	b := journal.Batch{}
	for _, m := range opened.Mail {
		b.Read = append(b.Read, m.ID)
	}
	out := engine.Outcome{}
	switch what {
	case 2: // died
		return out, &event.Error{Kind: event.ErrLeaseLost, Message: "gone"}
	case 3, 4:
		b.Release, out.Status = true, event.RunRunning
	case 5, 6, 7:
		b.Status, out.Status = event.RunWaiting, event.RunWaiting
	case 8, 9:
		out.WakeAt = time.Now().Add(time.Duration(w.choose(20_000)-5000) * time.Millisecond)
		b.Status, out.Status, b.WakeAt = event.RunWaiting, event.RunWaiting, out.WakeAt
	default:
		b.Status, out.Status = event.RunCompleted, event.RunCompleted
		b.Events = []*event.Event{{
			Header: event.Header{Seq: opened.Last + 1, Run: opened.Run.ID, Conversation: opened.Run.Conversation},
			Body:   &event.RunEnded{Status: event.RunCompleted},
		}}
	}
	w.say("%s ends up %s", work.Run.ID, out.Status)
	if err := w.store.Commit(base, opened.Lease, b); err != nil {
		return out, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range opened.Mail {
		if m.Kind == journal.MailMessage {
			w.messages[m.ID]++
		}
	}
	return out, nil
}

func (w *world) enter(r journal.Run, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at["all"] += by
	w.at[r.Conversation] += by
	if w.at["all"] > w.running || w.at[r.Conversation] > 1 {
		w.err = fmt.Errorf("%d drives at once, %d in one conversation", w.at["all"], w.at[r.Conversation])
	}
}
