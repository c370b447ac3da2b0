package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// The names that most cases use.
const (
	talk  = "talk"
	other = "other talk"
	first = "run 1"
	next  = "run 2"
)

// noon is the time of all events. Stores keep at least microseconds.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// probe runs one case on one store. A call that must succeed ends the case if it fails.
type probe struct {
	testingT
	Harness
	ctx context.Context
}

func newProbe(t testingT, h Harness) *probe {
	if h.Term == 0 {
		h.Term = journal.DefaultTerm
	}
	return &probe{testingT: t, Harness: h, ctx: t.Context()}
}

// needClock skips the case if the test cannot move the store's clock.
func (p *probe) needClock() {
	p.Helper()
	if p.Advance == nil {
		p.Skip("the harness cannot move the store's clock (Harness.Advance is nil)")
	}
}

// tick moves the store's clock, so that later rows are newer.
func (p *probe) tick() {
	if p.Advance != nil {
		p.Advance(time.Second)
		return
	}
	time.Sleep(2 * time.Millisecond)
}

// reopen closes the store and opens its data again.
func (p *probe) reopen() {
	p.Helper()
	if p.Reopen == nil {
		p.Skip("the store keeps nothing when it is closed (Harness.Reopen is nil)")
	}
	p.Store = p.Reopen()
}

func (p *probe) admit(r journal.Run) journal.Run {
	p.Helper()
	row, err := p.Store.Admit(p.ctx, r)
	p.ok("Admit", err)
	return row
}

func (p *probe) acquire(run string, have int64) journal.Opened {
	p.Helper()
	opened, err := p.Store.Acquire(p.ctx, run, have)
	p.ok("Acquire", err)
	return opened
}

func (p *probe) post(m journal.Mail) {
	p.Helper()
	p.ok("Post", p.Store.Post(p.ctx, m))
}

func (p *probe) log(conversation string) []*event.Event {
	p.Helper()
	events, err := p.Store.Read(p.ctx, conversation, 0, 0)
	p.ok("Read", err)
	return events
}

// row returns a run as the store has it.
func (p *probe) row(r journal.Run) journal.Run {
	p.Helper()
	return p.admit(r)
}

// due returns the ids of the due runs.
func (p *probe) due(limit int) []string {
	p.Helper()
	runs, err := p.Store.Due(p.ctx, limit)
	p.ok("Due", err)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func (p *probe) wantDue(ids ...string) {
	p.Helper()
	equal(p, "due runs", p.due(0), ids)
}

// start admits the first run of the conversation talk and acquires it.
func (p *probe) start() *pen {
	p.Helper()
	return p.startIn(talk, first)
}

func (p *probe) startIn(conversation, run string) *pen {
	p.Helper()
	p.admit(journal.Run{ID: run, Conversation: conversation})
	return p.take(run)
}

// take acquires a run and requests all events.
func (p *probe) take(run string) *pen {
	p.Helper()
	opened := p.acquire(run, 0)
	return &pen{p: p, lease: opened.Lease, last: opened.Last, opened: opened}
}

func (p *probe) ok(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// refused requires an error of this kind with a message.
func (p *probe) refused(what string, err error, kind event.ErrorKind) {
	p.Helper()
	if err == nil {
		p.Fatalf("%s: succeeded, want %s", what, kind)
	}
	var e *event.Error
	if !errors.As(err, &e) {
		p.Fatalf("%s: error is a %T, want an *event.Error of kind %s: %v", what, err, kind, err)
	}
	if e.Kind != kind {
		p.Fatalf("%s: error is of kind %s, want %s: %v", what, e.Kind, kind, err)
	}
	if e.Message == "" {
		p.Fatalf("%s: the error of kind %s says nothing to people", what, kind)
	}
}

// equal compares a store's result with the expected one.
func equal[V any](p *probe, what string, got, want V) {
	p.Helper()
	// nil and empty are equal.
	some := func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }
	rules := cmp.Options{cmpopts.EquateEmpty(), cmp.FilterValues(some, cmp.Comparer(sameJSON))}
	if diff := cmp.Diff(want, got, rules); diff != "" {
		p.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// sameJSON compares the content of two raw values, because a store may format JSON differently.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(raw json.RawMessage) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

// pen writes under one lease and knows the next Seq.
type pen struct {
	p      *probe
	lease  journal.Lease
	last   int64
	opened journal.Opened
}

// batch numbers events from the next Seq, without writing them.
func (w *pen) batch(events ...event.Event) journal.Batch {
	b := journal.Batch{Events: make([]*event.Event, len(events))}
	for i := range events {
		e := events[i]
		e.Seq = w.last + 1 + int64(i)
		e.Conversation = w.lease.Conversation
		e.Run = w.lease.Run
		e.Time = noon
		b.Events[i] = &e
	}
	return b
}

// commit writes a batch and advances the Seq.
func (w *pen) commit(b journal.Batch) {
	w.p.Helper()
	w.p.ok("Commit", w.p.Store.Commit(w.p.ctx, w.lease, b))
	w.last += int64(len(b.Events))
}

// write commits events and returns the batch.
func (w *pen) write(events ...event.Event) journal.Batch {
	w.p.Helper()
	b := w.batch(events...)
	w.commit(b)
	return b
}

// repeat commits a stored batch again, as a driver does that got no response.
func (w *pen) repeat(what string, b journal.Batch) {
	w.p.Helper()
	w.p.ok(what, w.p.Store.Commit(w.p.ctx, w.lease, b))
}

// refused requires that the batch is refused and the log unchanged.
func (w *pen) refused(what string, b journal.Batch, kind event.ErrorKind) {
	w.p.Helper()
	before := w.p.log(w.lease.Conversation)
	w.p.refused(what, w.p.Store.Commit(w.p.ctx, w.lease, b), kind)
	equal(w.p, "the log after a refused commit", w.p.log(w.lease.Conversation), before)
}

// lost requires that the batch is refused because the lease is void.
func (w *pen) lost(what string, b journal.Batch) {
	w.p.Helper()
	w.refused(what, b, event.ErrLeaseLost)
}

// ending returns a batch that ends the run after events.
func (w *pen) ending(status event.RunStatus, events ...event.Event) journal.Batch {
	b := w.batch(append(events, event.Event{Body: &event.RunEnded{Status: status}})...)
	b.Status = status
	return b
}

// end ends the run.
func (w *pen) end(status event.RunStatus) journal.Batch {
	w.p.Helper()
	b := w.ending(status)
	w.commit(b)
	return b
}

// park makes the run wait until wake; the zero time waits for mail only.
func (w *pen) park(wake time.Time, events ...event.Event) journal.Batch {
	w.p.Helper()
	b := w.batch(events...)
	b.Status = event.RunWaiting
	b.WakeAt = wake
	w.commit(b)
	return b
}

// renew returns the news.
func (w *pen) renew() journal.News {
	w.p.Helper()
	news, err := w.p.Store.Renew(w.p.ctx, w.lease)
	w.p.ok("Renew", err)
	return news
}

// release only releases the lease.
func (w *pen) release() {
	w.p.Helper()
	w.commit(journal.Batch{Release: true})
}

// What the cases write:

func note(text string) event.Event { return event.Event{Body: &event.Notice{Code: text}} }

func begun(step string, attempt int, kind event.StepKind) event.Event {
	return event.Event{Header: event.Header{Step: step, Attempt: attempt}, Body: &event.StepBegun{Step: kind}}
}

func ended(step string, attempt int, kind event.StepKind, outcome event.Outcome) event.Event {
	return event.Event{
		Header: event.Header{Step: step, Attempt: attempt},
		Body:   &event.StepEnded{Step: kind, Outcome: outcome},
	}
}

func answer(step string, attempt int) event.Event {
	return event.Event{
		Header: event.Header{Step: step, Attempt: attempt},
		Body:   &event.AssistantMessage{Content: words("4"), Stop: event.StopEndTurn},
	}
}

// piece returns a part of an unfinished answer.
func piece(step string, attempt int) event.Event {
	e := answer(step, attempt)
	e.Body = &event.AssistantMessage{Content: words("4"), Piece: true}
	return e
}

func asked(step string, attempt int, token string) event.Event {
	return event.Event{
		Header: event.Header{Step: step, Attempt: attempt},
		Body:   &event.Asked{Token: token, Ask: event.AskInput, Prompt: "How many?"},
	}
}

func set(pairs ...string) event.Event {
	change := &event.StateChanged{Set: map[string]json.RawMessage{}}
	for i := 0; i < len(pairs); i += 2 {
		change.Set[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return event.Event{Body: change}
}

func unset(keys ...string) event.Event {
	return event.Event{Body: &event.StateChanged{Delete: keys}}
}

func words(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }

func letter(id, run string) journal.Mail {
	return journal.Mail{ID: id, Run: run, Kind: journal.MailMessage, Message: words(id)}
}

// reply returns mail that makes a waiting run due.
func reply(id, run string) journal.Mail {
	return journal.Mail{ID: id, Run: run, Kind: journal.MailAnswer, Token: id, Value: json.RawMessage(`"yes"`)}
}

func mailIDs(mail []journal.Mail) []string {
	var ids []string
	for _, m := range mail {
		ids = append(ids, m.ID)
	}
	return ids
}

func seqs(events []*event.Event) []int64 {
	var s []int64
	for _, e := range events {
		s = append(s, e.Seq)
	}
	return s
}
