package journaltest

import (
	"fmt"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// whole returns a run with every field that a caller may set.
func whole() journal.Run {
	return journal.Run{
		ID: first, Conversation: talk, Tenant: "acme", User: "ann", Agent: "calc",
		Input: []event.Message{
			{Role: event.RoleUser, Content: []event.Block{
				&event.Text{Text: "3と5を足して"},
				&event.Image{MIME: "image/png", Data: []byte{0, 1, 254, 255}},
			}},
			{Role: event.RoleAssistant, Content: words("8")},
			{Role: event.RoleUser, Content: words("sure?")},
		},
		Key: "k1", Executor: "batch", Metadata: map[string]string{"colour": "blue", "": "empty"},
		NewSession: true,
	}
}

func admitCases() []testCase {
	return []testCase{
		{"turns count from 1 in each conversation", func(p *probe) {
			for i := 1; i <= 3; i++ {
				for _, c := range []string{talk, other} {
					row := p.admit(journal.Run{ID: fmt.Sprint(c, i), Conversation: c})
					equal(p, "turn in "+c, row.Turn, i)
				}
			}
		}},
		{"the row is kept whole", func(p *probe) {
			want := whole()
			row := p.admit(want)
			if row.Admitted.IsZero() {
				p.Errorf("Admitted is zero, want the store's clock")
			}
			want.Turn, want.Status, want.Admitted = 1, event.RunQueued, row.Admitted
			equal(p, "row that Admit gives", row, want)
			due, err := p.Store.Due(p.ctx, 0)
			p.ok("Due", err)
			for i := range due {
				due[i].Input = nil // the store may omit it
			}
			head := want
			head.Input = nil
			equal(p, "rows that Due gives", due, []journal.Run{head})
			want.Status = event.RunRunning
			equal(p, "row that Acquire gives", p.acquire(first, 0).Run, want)
		}},
		{"what is the store's is ignored in the argument", func(p *probe) {
			old := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
			row := p.admit(journal.Run{
				ID: first, Conversation: talk,
				Turn: 9, Status: event.RunCompleted, WakeAt: old, Cancelled: true, Admitted: old,
			})
			if row.Admitted.Equal(old) {
				p.Errorf("Admitted is the caller's, want the store's clock")
			}
			equal(p, "row", row, journal.Run{
				ID: first, Conversation: talk, Turn: 1, Status: event.RunQueued, Admitted: row.Admitted,
			})
			p.take(first)
		}},
		{"what the caller does with its values later changes nothing", func(p *probe) {
			r := whole()
			row := p.admit(r)
			r.Metadata["colour"] = "red"
			r.Input[0] = event.Message{Role: event.RoleUser, Content: words("forget it")}
			row.Metadata["colour"] = "green"
			want := whole()
			got := p.acquire(first, 0).Run
			equal(p, "input", got.Input, want.Input)
			equal(p, "metadata", got.Metadata, want.Metadata)
		}},
		{"the same id again is the same run as it stands", func(p *probe) {
			r := whole()
			row := p.admit(r)
			equal(p, "row of the second time", p.admit(r), row)
			w := p.take(first)
			equal(p, "status while it runs", p.row(r).Status, event.RunRunning)
			w.end(event.RunFailed)
			equal(p, "status after the end", p.row(r).Status, event.RunFailed)
			p.wantDue()
			equal(p, "turn of the next run", p.admit(journal.Run{ID: next, Conversation: talk, Tenant: "acme"}).Turn, 2)
		}},
		{"labels are no part of what was asked for", func(p *probe) {
			r := whole()
			row := p.admit(r)
			r.Executor, r.Metadata = "other", map[string]string{"try": "2"}
			equal(p, "row of the second time", p.admit(r), row)
		}},
		{"the same id or key for something else is a conflict", func(p *probe) {
			p.admit(whole())
			for what, change := range map[string]func(*journal.Run){
				"text":       func(r *journal.Run) { r.Input[0].Content = words("3と6を足して") },
				"block":      func(r *journal.Run) { r.Input[1].Content = []event.Block{&event.Thinking{Text: "8"}} },
				"role":       func(r *journal.Run) { r.Input[1].Role = event.RoleUser },
				"fewer":      func(r *journal.Run) { r.Input = r.Input[:2] },
				"none":       func(r *journal.Run) { r.Input = nil },
				"user":       func(r *journal.Run) { r.User = "bob" },
				"agent":      func(r *journal.Run) { r.Agent = "poet" },
				"newSession": func(r *journal.Run) { r.NewSession = false },
			} {
				r := whole()
				change(&r)
				_, err := p.Store.Admit(p.ctx, r)
				p.refused("other "+what+", same id", err, event.ErrConflict)
				r.ID = next
				_, err = p.Store.Admit(p.ctx, r)
				p.refused("other "+what+", same key", err, event.ErrConflict)
			}
			r := whole()
			r.Conversation = other
			_, err := p.Store.Admit(p.ctx, r)
			p.refused("other conversation, same id", err, event.ErrConflict)
			r = whole()
			r.Key = "k2"
			_, err = p.Store.Admit(p.ctx, r)
			p.refused("other key, same id", err, event.ErrConflict)

			r.ID = next
			equal(p, "turn after all these", p.admit(r).Turn, 2)
			p.wantDue(first)
		}},
		{"the same key again is the first run", func(p *probe) {
			r := whole()
			row := p.admit(r)
			r.ID = next
			equal(p, "row under another id", p.admit(r), row)
			_, err := p.Store.Acquire(p.ctx, next, 0)
			p.refused("Acquire of the id that was not taken", err, event.ErrNotFound)

			p.take(first).end(event.RunCompleted)
			row.Status = event.RunCompleted
			equal(p, "row after the end", p.admit(r), row)
		}},
		{"a key is the conversation's own, and none is no key", func(p *probe) {
			for i, r := range []journal.Run{
				{ID: "a", Conversation: talk, Key: "k"},
				{ID: "b", Conversation: other, Key: "k"},
				{ID: "c", Conversation: talk},
				{ID: "d", Conversation: talk},
				{ID: "e", Conversation: talk, Key: "l"},
			} {
				equal(p, fmt.Sprint("id of run ", i), p.admit(r).ID, r.ID)
			}
		}},
		{"a conversation is its tenant's", func(p *probe) {
			mine := journal.Run{ID: first, Conversation: talk, Tenant: "acme", Key: "k"}
			p.admit(mine)
			for what, r := range map[string]journal.Run{
				"new run":       {ID: next, Conversation: talk, Tenant: "zeta"},
				"no tenant":     {ID: next, Conversation: talk},
				"the same run":  {ID: first, Conversation: talk, Tenant: "zeta", Key: "k"},
				"the same key":  {ID: next, Conversation: talk, Tenant: "zeta", Key: "k"},
				"the same id":   {ID: first, Conversation: other, Tenant: "zeta"},
				"id, no tenant": {ID: first, Conversation: other},
			} {
				_, err := p.Store.Admit(p.ctx, r)
				p.refused(what+" of another tenant", err, event.ErrNotFound)
			}
			equal(p, "turn after all these", p.admit(journal.Run{ID: next, Conversation: talk, Tenant: "acme"}).Turn, 2)
			equal(p, "turn in a conversation that a refused run did not make",
				p.admit(journal.Run{ID: "run 3", Conversation: other, Tenant: "acme"}).Turn, 1)
		}},
		{"an empty id is invalid", func(p *probe) {
			for _, r := range []journal.Run{{Conversation: talk}, {ID: first}, {}} {
				_, err := p.Store.Admit(p.ctx, r)
				p.refused("Admit without an id", err, event.ErrInvalid)
			}
			p.wantDue()
		}},
		{"what is not UTF-8 is invalid", func(p *probe) {
			for what, change := range map[string]func(*journal.Run){
				"id":           func(r *journal.Run) { r.ID = "\xff" },
				"conversation": func(r *journal.Run) { r.Conversation = "\xff" },
				"tenant":       func(r *journal.Run) { r.Tenant = "\xff" },
				"user":         func(r *journal.Run) { r.User = "\xff" },
				"agent":        func(r *journal.Run) { r.Agent = "\xff" },
				"key":          func(r *journal.Run) { r.Key = "\xff" },
				"executor":     func(r *journal.Run) { r.Executor = "\xff" },
				"label":        func(r *journal.Run) { r.Metadata["colour"] = "\xff" },
				"label's name": func(r *journal.Run) { r.Metadata["\xff"] = "blue" },
			} {
				r := whole()
				change(&r)
				_, err := p.Store.Admit(p.ctx, r)
				p.refused("Admit with a broken "+what, err, event.ErrInvalid)
			}
			p.wantDue()
		}},
		{"fifty at once get turns without a gap", func(p *probe) {
			const n = 50
			turns := make([]int, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					row, err := p.Store.Admit(p.ctx, journal.Run{ID: fmt.Sprint(i), Conversation: talk})
					if err != nil {
						p.Errorf("Admit: %v", err)
					}
					turns[i] = row.Turn
				})
			}
			wg.Wait()
			seen := make(map[int]bool)
			for _, turn := range turns {
				if turn < 1 || turn > n || seen[turn] {
					p.Fatalf("turns are %v, want each of 1 to %d once", turns, n)
				}
				seen[turn] = true
			}
		}},
		{"fifty at once with one key are one run", func(p *probe) {
			ids := make([]string, 50)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() {
					row, err := p.Store.Admit(p.ctx, journal.Run{ID: fmt.Sprint(i), Conversation: talk, Key: "k"})
					if err != nil {
						p.Errorf("Admit: %v", err)
					}
					ids[i] = row.ID
				})
			}
			wg.Wait()
			for _, id := range ids {
				equal(p, "run", id, ids[0])
			}
			equal(p, "turn of the next run", p.admit(journal.Run{ID: next, Conversation: talk}).Turn, 2)
		}},
	}
}
