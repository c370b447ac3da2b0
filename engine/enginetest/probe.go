package enginetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// probe runs one case. It ends the case if a call fails that must succeed.
type probe struct {
	TB
	h      Harness
	ctx    context.Context //nolint:containedctx // a probe lives for one case
	stop   context.CancelFunc
	store  *blocked
	driver *fakeDriver
	setup  Setup
	opened []engine.Engine
}

func newProbe(t TB, h Harness) *probe {
	if h.Patience == 0 {
		h.Patience = 30 * time.Second
	}
	p := &probe{TB: t, h: h, store: &blocked{Store: new(journal.Memory)}}
	p.ctx, p.stop = context.WithTimeout(t.Context(), h.Patience)
	p.driver = newFakeDriver(p)
	p.setup = Setup{
		Store: p.store, Drive: p.driver.drive, Running: 4, TenantRunning: 3, Backlog: 1000, TenantBacklog: 500,
		Grace: time.Second,
	}
	return p
}

// end drains the engines of the case.
func (p *probe) end() {
	for _, e := range p.opened {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), p.h.Patience)
		if err := e.Drain(ctx); err != nil {
			p.Errorf("draining at the end: %v", err)
		}
		cancel()
	}
	p.stop()
}

// open opens an engine.
func (p *probe) open() engine.Engine {
	e := p.h.Open(p.TB, p.setup)
	p.opened = append(p.opened, e)
	return e
}

// start opens an engine and starts it.
func (p *probe) start() engine.Engine {
	p.Helper()
	e := p.open()
	p.ok("Start", e.Start(p.ctx))
	return e
}

// blocked is a store whose Due can fail.
type blocked struct {
	journal.Store
	due func() error
}

func (b *blocked) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	if b.due != nil {
		if err := b.due(); err != nil {
			return nil, err
		}
	}
	return b.Store.Due(ctx, limit)
}

// run returns a new run of the conversation.
func run(id, conversation string) journal.Run {
	return journal.Run{
		ID: id, Tenant: "tenant", Conversation: conversation, Agent: "agent",
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: id}}}},
	}
}

func (p *probe) submit(e engine.Engine, r journal.Run) journal.Run {
	p.Helper()
	row, err := e.Submit(p.ctx, r)
	p.ok("Submit", err)
	return row
}

func (p *probe) admit(r journal.Run) journal.Run {
	p.Helper()
	row, err := p.store.Admit(p.ctx, r)
	p.ok("Admit", err)
	return row
}

// mail posts mail for a run without waking the engine.
func (p *probe) mail(r journal.Run) {
	p.Helper()
	p.ok("Post", p.store.Post(p.ctx, journal.Mail{ID: "mail", Run: r.ID, Kind: journal.MailAnswer}))
}

// message posts a message for a run without waking the engine.
func (p *probe) message(r journal.Run) {
	p.Helper()
	p.ok("Post", p.store.Post(p.ctx, journal.Mail{ID: "message", Run: r.ID, Kind: journal.MailMessage}))
}

// status returns the status of a run.
func (p *probe) status(r journal.Run) event.RunStatus {
	p.Helper()
	row, err := p.store.Admit(p.ctx, r)
	p.ok("Admit", err)
	return row.Status
}

// stands waits until a run has the status.
func (p *probe) stands(r journal.Run, want event.RunStatus) {
	p.Helper()
	p.until(fmt.Sprintf("run %s to be %s", r.ID, want), func() bool { return p.status(r) == want })
}

// until waits until cond is true.
func (p *probe) until(what string, cond func() bool) {
	p.Helper()
	for !cond() {
		if p.ctx.Err() != nil {
			p.Fatalf("waited in vain for %s; taken were %v", what, p.driver.order())
		}
		p.rest(5 * time.Millisecond)
	}
}

// rest waits.
func (p *probe) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

func (p *probe) ok(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// refused checks that an error has the kind and a message.
func (p *probe) refused(what string, err error, kind event.ErrorKind) {
	p.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message == "" {
		p.Fatalf("%s: got %v, want an error of kind %s", what, err, kind)
	}
}

func equal[V any](p *probe, what string, got, want V) {
	p.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
