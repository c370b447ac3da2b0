package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// tenant and talk are the tenant and the conversation of all scenarios.
const (
	tenant = "acme"
	talk   = "talk"
)

// client makes one request after another, and repeats a request without an answer.
type client struct {
	w    *world
	name string
	// n counts its visits to the gate, and jobs its requests.
	n, jobs int
	// unsure is set if the answer to its last request was lost.
	unsure bool
}

// accepted is a message that the service accepted.
type accepted struct {
	client string
	text   string
	policy braid.Policy
	run    string
	stamp  int
}

type cancelRecord struct {
	run    string
	stamp  int
	at     time.Time
	client string
}

type answerRecord struct {
	client string
	token  string
	value  string
}

// client runs do concurrently with the other clients.
func (w *world) client(name string, do func(c *client)) {
	w.mu.Lock()
	w.active++
	w.mu.Unlock()
	w.spawn(func() {
		do(&client{w: w, name: name})
		w.mu.Lock()
		w.active--
		w.mu.Unlock()
		w.gate.ring()
	})
}

// at waits until about so many calls of seams have been made.
func (c *client) at(turns int) {
	c.n++
	c.w.gate.pass(nil, fmt.Sprintf("client %s %d", c.name, c.n), turns)
}

// any returns a random position among the first most calls.
func (w *world) any(most int) int { return w.draw.IntN(most) }

// ask calls f with a process until it gets an answer. It returns false if the case ends first.
func (c *client) ask(f func(ctx context.Context, p *process) error) (bool, error) {
	c.unsure = false
	for {
		c.at(0)
		p := c.w.reach()
		if p == nil {
			return false, nil
		}
		c.at(0)
		answered, err := p.serve(c.name, func(ctx context.Context) error { return f(ctx, p) })
		if c.w.over() {
			return false, nil
		}
		kind := event.KindOf(err)
		if answered && kind != event.ErrUnavailable && kind != event.ErrLeaseLost {
			return true, err
		}
		c.unsure = true
		lapse(100 * time.Millisecond)
	}
}

// submit starts a run through the engine under a key, and returns its id.
func (c *client) submit(text string) string {
	c.jobs++
	run := journal.Run{
		ID: fmt.Sprintf("%s-%d", c.name, c.jobs), Conversation: talk, Tenant: tenant, Agent: c.w.scenario.root,
		Key:   fmt.Sprintf("%s-key-%d", c.name, c.jobs),
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}},
	}
	ok, err := c.ask(func(ctx context.Context, p *process) error {
		_, err := call(p, Submit, c.name, func() (journal.Run, error) { return p.engine.Submit(ctx, run) })
		return err
	})
	switch {
	case ok && err != nil:
		c.w.fail("P1", "%s was refused: %v", run.ID, err)
	case ok:
		c.took(text, braid.Queue, run.ID)
	}
	return run.ID
}

func (c *client) took(text string, policy braid.Policy, run string) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	r.accepted = append(r.accepted, accepted{c.name, text, policy, run, r.tick()})
}

// send sends a message under a policy.
func (c *client) send(text string, policy braid.Policy) {
	c.jobs++
	key := fmt.Sprintf("%s-key-%d", c.name, c.jobs)
	var sent braid.Sent
	ok, err := c.ask(func(ctx context.Context, p *process) error {
		agent := c.w.scenario.agent
		got, err := call(p, Send, c.name, func() (braid.Sent, error) {
			return agent.Send(ctx, braid.Open(p.store, talk), text, braid.During(policy), braid.Key(key), braid.For(tenant, ""))
		})
		if err != nil {
			return err
		}
		sent = got
		for _, run := range append(got.Interrupted, got.Run) {
			c.wake(ctx, p, run)
		}
		return nil
	})
	switch {
	case !ok:
		return
	case policy == braid.Reject && event.KindOf(err) == event.ErrLocked:
		if !c.unsure {
			c.w.mu.Lock()
			c.w.record.missing = append(c.w.record.missing, text)
			c.w.mu.Unlock()
		}
		return
	case err != nil:
		c.w.fail("P1", "%q of %s was refused: %v", text, c.name, err)
		return
	}
	c.took(text, policy, sent.Run)
}

// wake notifies the engine of mail. It is only a hint, so nobody checks its outcome.
func (c *client) wake(ctx context.Context, p *process, run string) {
	row := journal.Run{ID: run, Conversation: talk, Tenant: tenant}
	_, _ = call(p, Wake, c.name+" "+c.w.alias(run), func() (struct{}, error) { return struct{}{}, p.engine.Wake(ctx, row) })
}

// cancel cancels a run.
func (c *client) cancel(run string) {
	ok, err := c.ask(func(ctx context.Context, p *process) error {
		_, err := call(p, Cancel, c.name, func() (struct{}, error) {
			return struct{}{}, p.engine.Cancel(ctx, journal.Run{ID: run, Conversation: talk, Tenant: tenant}, c.name)
		})
		return err
	})
	switch {
	case !ok || event.KindOf(err) == event.ErrConflict:
		return // the run has ended
	case event.KindOf(err) == event.ErrNotFound:
		c.w.fail("P1", "%s was accepted, and the journal does not know it", run)
		return
	case err != nil:
		c.w.fail("P9", "the cancellation of %s was refused: %v", run, err)
		return
	}
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	r.cancels = append(r.cancels, cancelRecord{run, r.tick(), time.Now(), c.name})
}

// answer answers a question, unless another client already has.
func (c *client) answer(q event.Event, value string) {
	token := q.Body.(*event.Asked).Token
	ok, err := c.ask(func(ctx context.Context, p *process) error {
		_, err := call(p, Answer, c.name, func() (struct{}, error) {
			return struct{}{}, braid.Open(p.store, talk).Answer(ctx, token, value)
		})
		if err == nil {
			c.wake(ctx, p, q.Run)
		}
		return err
	})
	if !ok || err != nil {
		return
	}
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record.answers = append(w.record.answers, answerRecord{c.name, token, value})
}

// questions calls do with every question.
func (c *client) questions(do func(q event.Event)) {
	known := map[string]bool{}
	for {
		q, ok := c.see(func(e event.Event) bool {
			q, ok := e.Body.(*event.Asked)
			return ok && !known[q.Token]
		})
		if !ok {
			return
		}
		known[q.Body.(*event.Asked).Token] = true
		do(q)
	}
}

// waiter is a client that waits for an event.
type waiter struct {
	want func(event.Event) bool
	got  chan event.Event
}

// see waits until the first watcher has been shown a durable event for which want returns true.
func (c *client) see(want func(event.Event) bool) (event.Event, bool) {
	w := c.w
	w.mu.Lock()
	for _, s := range w.viewers[0].seen {
		if want(*s.Event) {
			w.mu.Unlock()
			c.at(0)
			return *s.Event, true
		}
	}
	one := &waiter{want, make(chan event.Event, 1)}
	w.waiters = append(w.waiters, one)
	w.mu.Unlock()
	e, ok := <-one.got
	if ok {
		c.at(0)
	}
	return e, ok
}

// show passes an event of the first watcher to the clients.
func (w *world) show(e event.Event) {
	left := w.waiters[:0]
	for _, one := range w.waiters {
		if one.want(e) {
			one.got <- e
			continue
		}
		left = append(left, one)
	}
	clear(w.waiters[len(left):])
	w.waiters = left
}

// asked matches the n-th question, counted from 1.
func asked(n int) func(event.Event) bool {
	seen := map[string]bool{}
	return func(e event.Event) bool {
		q, ok := e.Body.(*event.Asked)
		if !ok {
			return false
		}
		seen[q.Token] = true
		return len(seen) == n
	}
}

// begun matches the n-th start of a kind of step.
func begun(step event.StepKind, n int) func(event.Event) bool {
	return func(e event.Event) bool {
		b, ok := e.Body.(*event.StepBegun)
		if ok && b.Step == step {
			n--
		}
		return ok && n == 0
	}
}

// ended matches the n-th end of a run.
func ended(n int) func(event.Event) bool {
	return func(e event.Event) bool {
		if _, ok := e.Body.(*event.RunEnded); ok {
			n--
			return n == 0
		}
		return false
	}
}
