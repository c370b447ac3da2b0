package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// TestAnswersLikeMemory makes the same random calls on this store and on the one in memory, and
// compares the results. Sometimes the store is reopened, forgets its caches, or has no space. A
// call that is refused for space is not made on the other store, so it must leave no trace. One
// goroutine does all of it; other tests are for the race detector.
func TestAnswersLikeMemory(t *testing.T) {
	t.Parallel()
	if race.On {
		t.Skip("make test plays it without the race detector")
	}
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) { newPair(t, r, seen).play() })
	for _, what := range []string{
		"admit", "admit not_found", "admit conflict", "admit storage_full", "start", "start locked", "start conflict",
		"acquire", "acquire locked", "acquire conflict", "acquire not_found",
		"commit", "commit lease_lost", "commit conflict", "commit again", "commit again lease_lost", "commit storage_full",
		"renew", "renew lease_lost", "post", "post conflict", "post not_found", "post storage_full",
		"admit locked", "heir", "ended",
	} {
		if seen[what] < 2 && !testing.Short() {
			t.Errorf("%q was seen %d times: the calls that are drawn do not reach it", what, seen[what])
		}
	}
	t.Log(seen)
}

// pair is the two stores and the calls so far.
type pair struct {
	*rapid.T
	seen    map[string]int
	folder  string
	clock   *manual
	term    time.Duration
	memory  *journal.Memory
	store   *sqlite.Store
	full    bool
	runs    []string
	leases  []journal.Lease
	batches []tried
	lasts   map[string]int64
}

type tried struct {
	lease journal.Lease
	batch journal.Batch
}

func newPair(t *testing.T, r *rapid.T, seen map[string]int) *pair {
	p := &pair{T: r, seen: seen, folder: t.TempDir(), clock: newManual(), term: time.Minute, lasts: map[string]int64{}}
	p.memory = journal.NewMemory(journal.MemoryOptions{Term: p.term, Now: p.clock.Now})
	p.reopen()
	return p
}

func (p *pair) reopen() {
	if p.store != nil {
		p.must(p.store.Close())
	}
	s, err := sqlite.Open(p.folder, sqlite.Options{Term: p.term, Now: p.clock.Now, Relaxed: true})
	p.must(err)
	p.store, p.full = s, false
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// same compares the two stores' errors by kind. again is false if SQLite had no space.
func (p *pair) same(what string, got error, want func() error) bool {
	p.Helper()
	if p.full && event.KindOf(got) == event.ErrStorageFull {
		p.seen[what+" storage_full"]++
		return false
	}
	kind := event.KindOf(want())
	if event.KindOf(got) != kind {
		p.Fatalf("%s: the error is %v, want %q", what, got, kind)
	}
	p.seen[strings.TrimSpace(what+" "+string(kind))]++
	return true
}

func (p *pair) equal(what string, got, want any) {
	p.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.Fatalf("%s (-memory +sqlite):\n%s", what, diff)
	}
}

func (p *pair) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(p.T, what)
}

func (p *pair) n(what string, from, to int) int { return rapid.IntRange(from, to).Draw(p.T, what) }

func (p *pair) runID() string {
	if len(p.runs) > 0 && p.n("known", 0, 5) > 0 {
		return rapid.SampledFrom(p.runs).Draw(p.T, "run")
	}
	return p.pick("run", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r\x00'8")
}

// space sets whether the disk has space.
func (p *pair) space(room bool) {
	p.full = !room
	limit := -1
	if p.full {
		limit = 0
	}
	p.must(p.store.Limit(limit))
}

func (p *pair) post(ctx context.Context) {
	m := p.mail()
	err := p.store.Post(ctx, m)
	p.same("post", err, func() error { return p.memory.Post(ctx, m) })
}

func (p *pair) play() {
	defer func() { p.must(p.store.Close()) }()
	ctx := context.Background()
	for range p.n("calls", 30, 80) {
		switch p.n("call", 0, 17) {
		case 0, 1:
			r := p.run()
			got, err := p.store.Admit(ctx, r)
			var want journal.Run
			if p.same("admit", err, func() (err error) { want, err = p.memory.Admit(ctx, r); return err }) {
				p.equal("row", got, want)
				p.runs = append(p.runs, r.ID)
			}
		case 2:
			p.start(p.run())
		case 3, 4, 5:
			id, have := p.runID(), int64(p.n("have", -1, 4))
			got, err := p.store.Acquire(ctx, id, have)
			var want journal.Opened
			if p.same("acquire", err, func() (err error) { want, err = p.memory.Acquire(ctx, id, have); return err }) {
				p.opened(got, want, err)
			}
		case 6, 7, 8:
			if len(p.leases) == 0 {
				continue
			}
			// Mostly the newest lease, because an old one is always refused.
			l := p.leases[len(p.leases)-1]
			if p.n("old", 0, 3) == 0 {
				l = rapid.SampledFrom(p.leases).Draw(p.T, "lease")
			}
			p.commit("commit", l, p.batch(l))
		case 9:
			if len(p.batches) == 0 {
				continue
			}
			again := rapid.SampledFrom(p.batches[max(0, len(p.batches)-4):]).Draw(p.T, "again")
			p.commit("commit again", again.lease, again.batch)
		case 10, 16:
			p.post(ctx)
		case 11:
			if len(p.leases) == 0 {
				continue
			}
			l := rapid.SampledFrom(p.leases[max(0, len(p.leases)-3):]).Draw(p.T, "lease")
			got, err := p.store.Renew(ctx, l)
			var want journal.News
			if p.same("renew", err, func() (err error) { want, err = p.memory.Renew(ctx, l); return err }) {
				p.equal("news", got, want)
			}
		case 12:
			p.clock.Advance(time.Duration(p.n("seconds", 1, 90)) * time.Second)
		case 13:
			p.must(p.store.Forget())
		case 14:
			p.space(p.full)
		case 17:
			// Random draws rarely combine a valid commit or mail with a full disk.
			if len(p.leases) == 0 {
				continue
			}
			p.space(false)
			l := p.leases[len(p.leases)-1]
			p.commit("commit", l, p.batch(l))
			p.post(ctx)
			p.space(true)
		case 15:
			if p.n("reopen", 0, 3) == 0 {
				p.reopen()
			}
		}
		p.due()
		if p.n("lists", 0, 9) == 0 {
			p.lists()
		}
	}
	p.lists()
	p.must(p.store.Limit(-1))
	if result, err := p.store.Integrity(); err != nil || result != "ok" {
		p.Fatal(result, err)
	}
	for _, c := range conversations {
		want, err := p.memory.Read(ctx, c, 0, 0)
		p.must(err)
		got, err := p.store.Read(ctx, c, 0, 0)
		p.must(err)
		p.equal("log of "+c, got, want)
	}
}

var conversations = []string{"c1", "c2", "c3 ü\x00\"?%"}

// mailIDs includes ids of mail that the store moved to another run.
var mailIDs = []string{"a", "b", "a@r1", "b@r2"}

// lists compares the listings of the two.
func (p *pair) lists() {
	p.Helper()
	ctx := context.Background()
	for _, tenant := range []string{"t1", "t2", "t3"} {
		want, err := p.memory.Conversations(ctx, tenant, "", 0)
		p.must(err)
		got, err := p.store.Conversations(ctx, tenant, "", 0)
		p.must(err)
		p.equal("conversations of "+tenant, got, want)
		for i, c := range want {
			next, err := p.store.Conversations(ctx, tenant, c.ID, 1)
			p.must(err)
			p.equal("the one after "+c.ID, next, want[i+1:min(i+2, len(want))])
			if c.Turns > c.Open {
				p.seen["ended"]++
			}
		}
	}
	for _, c := range conversations {
		want, err := p.memory.Runs(ctx, c, 0, 0)
		p.must(err)
		got, err := p.store.Runs(ctx, c, 0, 0)
		p.must(err)
		p.equal("runs of "+c, got, want)
		queue, err := p.memory.Queue(ctx, c)
		p.must(err)
		open, err := p.store.Queue(ctx, c)
		p.must(err)
		p.equal("queue of "+c, open, queue)
		for _, r := range want {
			if strings.HasSuffix(r.ID, "+") {
				p.seen["heir"]++
			}
		}
	}
}

// start compares Start with Admit and Acquire.
func (p *pair) start(r journal.Run) {
	p.Helper()
	ctx := context.Background()
	got, err := p.store.Start(ctx, r, 0)
	var row journal.Run
	var want journal.Opened
	both := func() (err error) {
		if row, err = p.memory.Admit(ctx, r); err == nil {
			want, err = p.memory.Acquire(ctx, row.ID, 0)
		}
		return err
	}
	if !p.same("start", err, both) {
		return
	}
	if row.ID != "" {
		p.runs = append(p.runs, r.ID)
	}
	if err != nil {
		p.equal("row of a run that was not taken", got, journal.Opened{Run: row})
		return
	}
	p.opened(got, want, nil)
}

func (p *pair) opened(got, want journal.Opened, err error) {
	p.Helper()
	p.equal("opened", got, want)
	if err == nil {
		p.leases = append(p.leases, got.Lease)
		p.lasts[got.Lease.Conversation] = got.Last
	}
}

func (p *pair) commit(what string, l journal.Lease, b journal.Batch) {
	p.Helper()
	ctx := context.Background()
	err := p.store.Commit(ctx, l, b)
	if p.same(what, err, func() error { return p.memory.Commit(ctx, l, b) }) {
		if n := len(b.Events); n > 0 && err == nil {
			p.lasts[l.Conversation] = max(p.lasts[l.Conversation], b.Events[n-1].Seq)
		}
		p.batches = append(p.batches, tried{l, b})
	}
}

func (p *pair) due() {
	p.Helper()
	ctx := context.Background()
	limit := p.n("limit", 0, 3)
	want, err := p.memory.Due(ctx, limit)
	p.must(err)
	got, err := p.store.Due(ctx, limit)
	p.must(err)
	for i := range want {
		want[i].Input = nil // this store leaves the input out
	}
	p.equal("due", got, want)
}

func (p *pair) run() journal.Run {
	r := journal.Run{
		ID: p.runID(), Conversation: rapid.SampledFrom(conversations).Draw(p.T, "conversation"), Tenant: "t1",
		User: p.pick("user", "", "ann"), Key: p.pick("key", "", "", "k"), Agent: "x",
		Alone: p.n("alone", 0, 3) == 0, Follows: max(0, p.n("follows", -6, 3)),
	}
	if r.Conversation == conversations[2] {
		r.Tenant = "t2"
	}
	if p.n("input", 0, 1) == 0 {
		r.Input = []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: strings.Repeat("word ", 3000*p.n("words", 0, 3))}}}}
		r.Metadata = map[string]string{"a": "b"}
	}
	if p.n("other", 0, 15) == 0 {
		r.Tenant = "t3"
	}
	return r
}

func (p *pair) mail() journal.Mail {
	m := journal.Mail{ID: p.pick("mail", mailIDs...), Run: p.runID(), Kind: journal.MailMessage}
	switch p.n("kind", 0, 5) {
	case 0:
		m.Kind = journal.MailCancel
	case 1:
		m.Kind, m.Token, m.Value, m.By = journal.MailAnswer, "t", json.RawMessage(p.pick("value", `{"n":[1]}`, `{"n":[2]}`)), p.pick("by", "ann", "bob")
	case 2:
		m.Message = []event.Block{&event.Text{Text: strings.Repeat("word ", 3000*p.n("words", 0, 3))}}
	}
	return m
}

func (p *pair) batch(l journal.Lease) journal.Batch {
	var b journal.Batch
	seq := p.lasts[l.Conversation] + 1
	if p.n("off", 0, 9) == 0 {
		seq = max(1, seq+int64(p.n("by", -2, 1)))
	}
	add := func(h event.Header, body event.Body) {
		h.Seq, h.Conversation, h.Run = seq+int64(len(b.Events)), l.Conversation, l.Run
		b.Events = append(b.Events, &event.Event{Header: h, Body: body})
	}
	for range p.n("events", 0, 3) {
		h := event.Header{Step: p.pick("step", "s", "u"), Attempt: p.n("attempt", 0, 2)}
		kind := event.StepTool
		if h.Step == "u" {
			kind = event.StepModel
		}
		switch p.n("body", 0, 8) {
		case 0, 1:
			h.Attempt = max(h.Attempt, 1)
			add(h, &event.StepBegun{Step: kind})
		case 2:
			outcome := event.Outcome(p.pick("outcome", string(event.OutcomeDone), string(event.OutcomeCancelled)))
			add(h, &event.StepEnded{Step: kind, Outcome: outcome})
		case 3:
			add(h, &event.AssistantMessage{Piece: p.n("piece", 0, 3) == 0})
		case 4:
			add(h, &event.Asked{})
		case 5:
			key := p.pick("key", "app:k", "user:k", "k")
			if p.n("delete", 0, 1) == 0 {
				add(event.Header{}, &event.StateChanged{Delete: []string{key}})
			} else {
				v := json.RawMessage(fmt.Sprint(seq))
				add(event.Header{}, &event.StateChanged{Set: map[string]json.RawMessage{key: v}})
			}
		case 6:
			add(event.Header{}, &event.RunStarted{Session: p.n("session", 0, 2)})
		case 7:
			add(event.Header{Scope: p.pick("scope", "", "s")}, &event.Compacted{From: 1, To: max(1, seq-1)})
		default:
			add(event.Header{}, &event.Notice{Text: strings.Repeat("word ", 3000*p.n("words", 0, 3))})
		}
	}
	switch p.n("status", 0, 9) {
	case 0:
		b.Status = event.RunCompleted
		add(event.Header{}, &event.RunEnded{Status: b.Status})
	case 1, 2:
		b.Status = event.RunWaiting
		if p.n("wake", 0, 1) == 0 {
			b.WakeAt = p.clock.Now().Add(time.Duration(p.n("minutes", -1, 2)) * time.Minute)
		}
	case 3, 4:
		b.Release = true
	case 5:
		b.Status = event.RunRunning
	}
	for range p.n("read", 0, 4) / 3 {
		b.Read = append(b.Read, p.pick("mail", mailIDs...))
	}
	return b
}
