package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
)

// plain is the contract once more, written for reading and not for speed: it
// keeps everything that ever happened and works each answer out from that. It
// shares no code with Memory, so where the two agree, both have to be wrong in the
// same way to be wrong.
type plain struct {
	now  time.Time
	term time.Duration
	runs []*plainRun
	// written is all events in the order of their commits, over all conversations.
	written []plainEvent
	leases  map[string]*plainLease
}

type plainRun struct {
	journal.Run
	mail []journal.Mail
	read map[string]bool
}

type plainEvent struct {
	*event.Event
	epoch int64
	run   *plainRun
}

type plainLease struct {
	journal.Lease
	held bool
}

func (p *plain) find(f func(*plainRun) bool) *plainRun {
	if i := slices.IndexFunc(p.runs, f); i >= 0 {
		return p.runs[i]
	}
	return nil
}

func (p *plain) log(conversation string) []plainEvent {
	var log []plainEvent
	for _, e := range p.written {
		if e.Conversation == conversation {
			log = append(log, e)
		}
	}
	return log
}

// behind reports whether an earlier run of the conversation has not ended.
func (p *plain) behind(r *plainRun) bool {
	return p.find(func(o *plainRun) bool {
		return o.Conversation == r.Conversation && o.Turn < r.Turn && !o.Status.Ended()
	}) != nil
}

func (p *plain) unread(r *plainRun) []journal.Mail {
	return slices.DeleteFunc(slices.Clone(r.mail), func(m journal.Mail) bool { return r.read[m.ID] })
}

func (p *plain) admit(r journal.Run) (journal.Run, event.ErrorKind) {
	turn := 1
	for _, o := range p.runs {
		if o.Conversation == r.Conversation {
			turn++
			if o.Tenant != r.Tenant {
				return journal.Run{}, event.ErrNotFound
			}
		}
	}
	known := p.find(func(o *plainRun) bool { return o.ID == r.ID })
	if known == nil {
		known = p.find(func(o *plainRun) bool {
			return o.Conversation == r.Conversation && o.Key == r.Key && r.Key != ""
		})
	}
	if known != nil {
		switch {
		case known.Tenant != r.Tenant:
			return journal.Run{}, event.ErrNotFound
		case known.Conversation != r.Conversation || known.Key != r.Key ||
			known.Agent != r.Agent || known.User != r.User:
			return journal.Run{}, event.ErrConflict
		}
		return known.Run, ""
	}
	if r.Alone && len(p.queue(r.Conversation)) > 0 {
		return journal.Run{}, event.ErrLocked
	}
	if r.Follows > 0 && r.Follows != turn-1 {
		return journal.Run{}, event.ErrConflict
	}
	r.Alone, r.Follows = false, 0
	r.Turn, r.Status, r.Admitted, r.WakeAt, r.Cancelled = turn, event.RunQueued, p.now, time.Time{}, false
	p.runs = append(p.runs, &plainRun{Run: r, read: map[string]bool{}})
	return r, ""
}

func (p *plain) acquire(id string, have int64) (journal.Opened, event.ErrorKind) {
	r := p.find(func(o *plainRun) bool { return o.ID == id })
	switch {
	case r == nil:
		return journal.Opened{}, event.ErrNotFound
	case r.Status.Ended():
		return journal.Opened{}, event.ErrConflict
	case p.behind(r):
		return journal.Opened{}, event.ErrLocked
	}
	l := p.leases[r.Conversation]
	if l == nil {
		l = &plainLease{}
		p.leases[r.Conversation] = l
	}
	if l.held && p.now.Before(l.Until) {
		return journal.Opened{}, event.ErrLocked
	}
	if l.held {
		r.Lost++
	}
	l.held = true
	l.Lease = journal.Lease{Conversation: r.Conversation, Run: id, Epoch: l.Epoch + 1, Until: p.now.Add(p.term), Term: p.term}
	r.Status, r.WakeAt = event.RunRunning, time.Time{}
	o := journal.Opened{Lease: l.Lease, Run: r.Run, Mail: p.unread(r), Shared: map[string]json.RawMessage{}}
	for _, e := range p.log(r.Conversation) {
		o.Last = e.Seq
		if e.Seq > have {
			o.Events = append(o.Events, e.Event)
		}
	}
	for _, e := range p.written {
		c, ok := e.Body.(*event.StateChanged)
		if !ok || e.run.Tenant != r.Tenant {
			continue
		}
		mine := func(k string) bool {
			return strings.HasPrefix(k, "app:") || strings.HasPrefix(k, "user:") && e.run.User == r.User
		}
		for k, v := range c.Set {
			if mine(k) {
				o.Shared[k] = v
			}
		}
		for _, k := range c.Delete {
			if mine(k) {
				delete(o.Shared, k)
			}
		}
	}
	return o, ""
}

func (p *plain) renew(l journal.Lease) (journal.News, event.ErrorKind) {
	last := p.leases[l.Conversation]
	if last == nil || !last.held || last.Epoch != l.Epoch {
		return journal.News{}, event.ErrLeaseLost
	}
	last.Until = p.now.Add(p.term)
	r := p.find(func(o *plainRun) bool { return o.ID == l.Run })
	return journal.News{Cancelled: r.Cancelled, Mail: p.unread(r)}, ""
}

// queue is the conversation's runs that have not ended, by turn.
func (p *plain) queue(conversation string) []*plainRun {
	return slices.DeleteFunc(p.all(conversation), func(r *plainRun) bool { return r.Status.Ended() })
}

func (p *plain) all(conversation string) []*plainRun {
	return slices.DeleteFunc(slices.Clone(p.runs), func(r *plainRun) bool { return r.Conversation != conversation })
}

// passOn gives what a run that has ended left to the one behind it.
func (p *plain) passOn(r *plainRun) {
	left := slices.DeleteFunc(p.unread(r), func(m journal.Mail) bool { return m.Kind != journal.MailMessage })
	if len(left) == 0 {
		return
	}
	queue := p.queue(r.Conversation)
	if len(queue) == 0 {
		id := r.ID + "+"
		for p.find(func(o *plainRun) bool { return o.ID == id }) != nil {
			id += "+"
		}
		_, kind := p.admit(journal.Run{
			ID: id, Conversation: r.Conversation, Tenant: r.Tenant, User: r.User, Agent: r.Agent,
			Executor: r.Executor, Metadata: r.Metadata,
		})
		if kind != "" {
			panic(kind)
		}
		queue = p.queue(r.Conversation)
	}
	heir := queue[0]
	// Early ones stand together at the beginning.
	early := 0
	for early < len(heir.mail) && heir.mail[early].Early {
		early++
	}
	for i, m := range left {
		for slices.ContainsFunc(heir.mail, func(o journal.Mail) bool { return o.ID == m.ID }) {
			m.ID += "@" + r.ID
		}
		m.Run, m.Early = heir.ID, true
		heir.mail = slices.Insert(heir.mail, early+i, m)
	}
}

// inherited is what the end of a run left to the next one.
func (p *plain) inherited(b journal.Batch, l journal.Lease) []journal.Mail {
	queue := p.queue(l.Conversation)
	if !b.Status.Ended() || len(queue) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(queue[0].mail), func(m journal.Mail) bool { return !m.Early })
}

func (p *plain) conversations(tenant string) []journal.Summary {
	var list []journal.Summary
	seen := map[string]bool{}
	for i := len(p.runs) - 1; i >= 0; i-- {
		newest := p.runs[i]
		if newest.Tenant != tenant || seen[newest.Conversation] {
			continue
		}
		seen[newest.Conversation] = true
		all, open := p.all(newest.Conversation), p.queue(newest.Conversation)
		s := journal.Summary{
			ID: newest.Conversation, Tenant: tenant, User: newest.User, Agent: newest.Agent, Turns: len(all),
			Open: len(open), Last: int64(len(p.log(newest.Conversation))), Status: newest.Status,
			Created: all[0].Admitted, Updated: newest.Admitted,
		}
		if len(open) > 0 {
			s.Status = open[0].Status
		}
		list = append(list, s)
	}
	return list
}

func (p *plain) post(m journal.Mail) event.ErrorKind {
	r := p.find(func(o *plainRun) bool { return o.ID == m.Run })
	if r == nil {
		return event.ErrNotFound
	}
	known := slices.IndexFunc(r.mail, func(o journal.Mail) bool { return o.ID == m.ID })
	switch {
	case known >= 0:
		o := r.mail[known]
		if o.Kind != m.Kind || o.Token != m.Token || string(o.Value) != string(m.Value) || !cmp.Equal(o.Message, m.Message) {
			return event.ErrConflict
		}
		return ""
	case r.Status.Ended():
		return event.ErrConflict
	}
	m.Posted = p.now
	r.mail = append(r.mail, m)
	r.Cancelled = r.Cancelled || m.Kind == journal.MailCancel
	return ""
}

func (p *plain) commit(l journal.Lease, b journal.Batch) event.ErrorKind {
	r := p.find(func(o *plainRun) bool { return o.ID == l.Run })
	log := p.log(l.Conversation)
	last := p.leases[l.Conversation]
	gives := b.Release || b.Status == event.RunWaiting || b.Status.Ended()
	mine := last.Epoch == l.Epoch

	if len(b.Events) > 0 && b.Events[0].Seq <= int64(len(log)) {
		for _, e := range b.Events {
			if e.Seq > int64(len(log)) {
				return event.ErrLeaseLost
			}
			s := log[e.Seq-1]
			if s.epoch != l.Epoch || s.Run != e.Run || s.Step != e.Step || s.Attempt != e.Attempt ||
				s.Body.Kind() != e.Body.Kind() {
				return event.ErrLeaseLost
			}
		}
		if mine || gives {
			return ""
		}
		return event.ErrLeaseLost
	}
	if !mine {
		return event.ErrLeaseLost
	}
	if !last.held {
		read := !slices.ContainsFunc(b.Read, func(id string) bool { return !r.read[id] })
		if len(b.Events) == 0 && gives && read && (b.Status == "" || b.Status == r.Status && b.WakeAt.Equal(r.WakeAt)) {
			return ""
		}
		return event.ErrLeaseLost
	}
	if len(b.Events) > 0 && b.Events[0].Seq != int64(len(log))+1 {
		return event.ErrLeaseLost
	}
	for _, id := range b.Read {
		if !slices.ContainsFunc(p.unread(r), func(m journal.Mail) bool { return m.ID == id }) {
			return event.ErrConflict
		}
	}
	// The life of each step, from the first event of the run to the last of the batch.
	type step struct {
		attempt int
		state   string // "", "runs", "asked", "asked now"
		kind    event.StepKind
	}
	steps := map[string]step{}
	follow := func(e *event.Event, now bool) bool {
		s := steps[e.Step]
		switch body := e.Body.(type) {
		case *event.StepBegun:
			if s.state != "" && e.Attempt <= s.attempt {
				return false
			}
			steps[e.Step] = step{attempt: e.Attempt, state: "runs", kind: body.Step}
		case *event.StepEnded:
			same := s.attempt == e.Attempt
			cancelled := body.Outcome == event.OutcomeCancelled
			switch {
			case s.state == "runs" && same:
			case s.state == "" && e.Attempt == 0:
			case strings.HasPrefix(s.state, "asked") && (e.Attempt == 0 || same && cancelled):
			default:
				return false
			}
			delete(steps, e.Step)
		case *event.AssistantMessage:
			if s.state != "runs" || s.attempt != e.Attempt || s.kind != event.StepModel {
				return false
			}
			delete(steps, e.Step)
		case *event.Asked:
			if s.attempt != e.Attempt || s.kind != event.StepTool || s.state != "runs" && s.state != "asked now" {
				return false
			}
			s.state = "asked"
			if now {
				s.state = "asked now"
			}
			steps[e.Step] = s
		}
		return true
	}
	for _, e := range log {
		if e.Run == r.ID {
			// Several questions stood in one batch once; they need no second look.
			if _, ok := e.Body.(*event.Asked); ok && steps[e.Step].state == "asked" {
				continue
			}
			follow(e.Event, false)
		}
	}
	for _, e := range b.Events {
		if !follow(e, true) {
			return event.ErrConflict
		}
	}

	for _, e := range b.Events {
		p.written = append(p.written, plainEvent{e, l.Epoch, r})
	}
	for _, id := range b.Read {
		r.read[id] = true
	}
	if b.Status != "" {
		r.Status, r.WakeAt = b.Status, b.WakeAt
	}
	last.held = !gives
	if journal.Progresses(b.Events) {
		r.Lost = 0
	}
	if b.Status.Ended() {
		p.passOn(r)
	}
	return ""
}

func (p *plain) due(limit int) []string {
	var due []string
	for _, r := range p.runs {
		l := p.leases[r.Conversation]
		free := l == nil || !l.held || !p.now.Before(l.Until)
		ready := false
		switch r.Status {
		case event.RunQueued:
			ready = true
		case event.RunRunning:
			ready = free
		case event.RunWaiting:
			news := slices.ContainsFunc(p.unread(r), func(m journal.Mail) bool { return m.Kind != journal.MailMessage })
			ready = news || !r.WakeAt.IsZero() && !p.now.Before(r.WakeAt)
		}
		if ready && !p.behind(r) && (limit <= 0 || len(due) < limit) {
			due = append(due, r.ID)
		}
	}
	return due
}

// TestMemoryKeepsTheContract plays the same random calls on Memory and on
// plain, and wants the same answers. What was tried comes again now and
// then, as from a driver that was not answered.
func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) { playBoth(t, seen) })
	for _, what := range []string{
		"admit", "admit not_found", "admit conflict", "admit locked", "acquire", "acquire locked", "acquire conflict", "acquire not_found",
		"commit", "commit lease_lost", "commit conflict", "commit again", "commit again lease_lost",
		"renew", "renew lease_lost", "post", "post conflict", "post not_found", "heir", "heir that was queued", "letter renamed",
	} {
		if seen[what] < 5 && !testing.Short() && !race.On { // few are drawn under the race detector
			t.Errorf("%q was seen %d times: the calls that are drawn do not reach it", what, seen[what])
		}
	}
	t.Log(seen)
}

func playBoth(t *rapid.T, seen map[string]int) {
	ctx := context.Background()
	p := &plain{now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), term: time.Minute, leases: map[string]*plainLease{}}
	m := journal.NewMemory(journal.MemoryOptions{Term: p.term, Now: func() time.Time { return p.now }})

	kind := func(what string, err error, want event.ErrorKind) {
		t.Helper()
		if got := event.KindOf(err); got != want {
			t.Fatalf("%s: error is %q, want %q", what, got, want)
		}
		seen[strings.TrimSpace(what+" "+string(want))]++
	}
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }

	type tried struct {
		lease journal.Lease
		batch journal.Batch
	}
	mailIDs := []string{"a", "b", "a@r1", "b@r2"}
	var leases []journal.Lease
	var batches []tried
	runID := func() string {
		if n := len(p.runs); n > 0 && rapid.IntRange(0, 5).Draw(t, "known") > 0 {
			return p.runs[rapid.IntRange(0, n-1).Draw(t, "run")].ID
		}
		return pick("run", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8")
	}

	batch := func(l journal.Lease) journal.Batch {
		var b journal.Batch
		seq := int64(len(p.log(l.Conversation))) + 1
		if rapid.IntRange(0, 9).Draw(t, "off") == 0 {
			seq = max(1, seq+int64(rapid.IntRange(-2, 1).Draw(t, "by")))
		}
		add := func(h event.Header, body event.Body) {
			h.Seq, h.Conversation, h.Run = seq+int64(len(b.Events)), l.Conversation, l.Run
			b.Events = append(b.Events, &event.Event{Header: h, Body: body})
		}
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			h := event.Header{Step: pick("step", "s", "u"), Attempt: rapid.IntRange(0, 2).Draw(t, "attempt")}
			sort := event.StepTool
			if h.Step == "u" {
				sort = event.StepModel
			}
			switch rapid.IntRange(0, 6).Draw(t, "body") {
			case 0, 1:
				h.Attempt = max(h.Attempt, 1)
				add(h, &event.StepBegun{Step: sort})
			case 2:
				outcome := event.Outcome(pick("outcome", string(event.OutcomeDone), string(event.OutcomeCancelled)))
				add(h, &event.StepEnded{Step: sort, Outcome: outcome})
			case 3:
				add(h, &event.AssistantMessage{})
			case 4:
				add(h, &event.Asked{})
			case 5:
				key := pick("key", "app:k", "user:k", "k")
				if rapid.Bool().Draw(t, "delete") {
					add(event.Header{}, &event.StateChanged{Delete: []string{key}})
				} else {
					v := json.RawMessage(fmt.Sprint(len(p.written)))
					add(event.Header{}, &event.StateChanged{Set: map[string]json.RawMessage{key: v}})
				}
			default:
				add(event.Header{}, &event.Notice{})
			}
		}
		switch rapid.IntRange(0, 9).Draw(t, "status") {
		case 0:
			b.Status = event.RunCompleted
			add(event.Header{}, &event.RunEnded{Status: b.Status})
		case 1, 2:
			b.Status = event.RunWaiting
			if rapid.Bool().Draw(t, "wake") {
				b.WakeAt = p.now.Add(time.Duration(rapid.IntRange(-1, 2).Draw(t, "minutes")) * time.Minute)
			}
		case 3, 4:
			b.Release = true
		case 5:
			b.Status = event.RunRunning
		}
		for range rapid.IntRange(0, 4).Draw(t, "read") / 3 {
			b.Read = append(b.Read, pick("mail", mailIDs...))
		}
		return b
	}

	for range rapid.IntRange(50, 150).Draw(t, "calls") {
		switch rapid.IntRange(0, 11).Draw(t, "call") {
		case 0, 1:
			r := journal.Run{
				ID: runID(), Conversation: pick("conversation", "c1", "c2", "c3"), Tenant: "t1",
				User: pick("user", "", "ann"), Key: pick("key", "", "", "k"), Agent: "x",
				Alone: rapid.IntRange(0, 3).Draw(t, "alone") == 0, Follows: max(0, rapid.IntRange(-6, 3).Draw(t, "follows")),
			}
			if r.Conversation == "c3" {
				r.Tenant = "t2"
			}
			if old := p.find(func(o *plainRun) bool { return o.ID == r.ID }); old != nil && rapid.Bool().Draw(t, "same") {
				r = old.Run
			}
			switch rapid.IntRange(0, 15).Draw(t, "other") {
			case 0:
				r.Tenant = "t3"
			case 1:
				r.Agent = "y"
			}
			want, k := p.admit(r)
			got, err := m.Admit(ctx, r)
			kind("admit", err, k)
			equal("row", got, want)
		case 2, 3, 4:
			id, have := runID(), int64(rapid.IntRange(-1, 4).Draw(t, "have"))
			want, k := p.acquire(id, have)
			got, err := m.Acquire(ctx, id, have)
			kind("acquire", err, k)
			equal("opened", got, want)
			if err == nil {
				leases = append(leases, got.Lease)
			}
		case 5, 6, 7:
			if len(leases) == 0 {
				continue
			}
			// Mostly the newest lease: an old one can only be refused.
			l := leases[len(leases)-1]
			if rapid.IntRange(0, 3).Draw(t, "old") == 0 {
				l = rapid.SampledFrom(leases).Draw(t, "lease")
			}
			b := batch(l)
			runs := len(p.runs)
			k := p.commit(l, b)
			for _, m := range p.inherited(b, l) {
				what := "heir that was queued"
				if len(p.runs) > runs {
					what = "heir"
				}
				seen[what]++
				if strings.Contains(m.ID, "@") {
					seen["letter renamed"]++
				}
			}
			kind("commit", m.Commit(ctx, l, b), k)
			batches = append(batches, tried{l, b})
		case 8:
			if len(batches) == 0 {
				continue
			}
			again := rapid.SampledFrom(batches[max(0, len(batches)-4):]).Draw(t, "again")
			k := p.commit(again.lease, again.batch)
			kind("commit again", m.Commit(ctx, again.lease, again.batch), k)
		case 9:
			mail := journal.Mail{ID: pick("mail", mailIDs...), Run: runID(), Kind: journal.MailMessage}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				mail.Kind = journal.MailCancel
			case 1:
				mail.Kind, mail.Token, mail.Value = journal.MailAnswer, pick("token", "t", "u"), json.RawMessage(pick("value", "1", "2"))
			case 2:
				mail.Message, mail.By = []event.Block{&event.Text{Text: pick("text", "x", "y")}}, pick("by", "ann", "bob")
			}
			kind("post", m.Post(ctx, mail), p.post(mail))
		case 10:
			if len(leases) == 0 {
				continue
			}
			l := rapid.SampledFrom(leases[max(0, len(leases)-3):]).Draw(t, "lease")
			want, k := p.renew(l)
			got, err := m.Renew(ctx, l)
			kind("renew", err, k)
			equal("news", got, want)
		case 11:
			p.now = p.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
		}

		limit := rapid.IntRange(0, 3).Draw(t, "limit")
		runs, err := m.Due(ctx, limit)
		kind("due", err, "")
		var ids []string
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		equal("due", ids, p.due(limit))
	}
	for _, tenant := range []string{"t1", "t2", "t3"} {
		want := p.conversations(tenant)
		got, err := m.Conversations(ctx, tenant, "", 0)
		kind("conversations", err, "")
		equal("conversations", got, want)
		for i, s := range want {
			got, err := m.Conversations(ctx, tenant, s.ID, 1)
			kind("conversations", err, "")
			equal("conversation after "+s.ID, got, want[i+1:min(i+2, len(want))])
			runs, err := m.Runs(ctx, s.ID, 0, 0)
			kind("runs", err, "")
			var rows []journal.Run
			for _, r := range p.all(s.ID) {
				rows = append(rows, r.Run)
			}
			equal("runs of "+s.ID, runs, rows)
		}
	}
	for _, c := range []string{"c1", "c2", "c3"} {
		var want []*event.Event
		for _, e := range p.log(c) {
			want = append(want, e.Event)
		}
		got, err := m.Read(ctx, c, 0, 0)
		kind("read", err, "")
		equal("log of "+c, got, want)
	}
}
