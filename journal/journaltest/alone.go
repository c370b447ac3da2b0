package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func aloneCases() []testCase {
	alone := func(id string) journal.Run { return journal.Run{ID: id, Conversation: talk, Alone: true} }
	return []testCase{
		{"one that is to be alone is admitted where none is open", func(p *probe) {
			row := p.admit(alone(first))
			equal(p, "row", row, journal.Run{
				ID: first, Conversation: talk, Turn: 1, Status: event.RunQueued, Admitted: row.Admitted,
			})
			p.take(first).end(event.RunFailed)
			equal(p, "turn of one after the end", p.admit(alone(next)).Turn, 2)
		}},
		{"one that is to be alone is refused while another is open", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			refused := func(what string) {
				p.Helper()
				_, err := p.Store.Admit(p.ctx, alone(next))
				p.refused("Admit while another "+what, err, event.ErrLocked)
			}
			refused("is queued")
			w := p.take(first)
			refused("runs")
			w.release()
			refused("is free")
			w = p.take(first)
			w.park(time.Time{})
			refused("waits")
			p.admit(journal.Run{ID: "run 3", Conversation: talk})
			p.take(first).end(event.RunCompleted)
			refused("is next")
			p.take("run 3").end(event.RunCompleted)
			equal(p, "turn after all these", p.admit(alone(next)).Turn, 3)
			p.wantDue(next)
		}},
		{"others queue behind one that was alone", func(p *probe) {
			p.admit(alone(first))
			equal(p, "turn", p.admit(journal.Run{ID: next, Conversation: talk}).Turn, 2)
		}},
		{"only the own conversation counts", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: other})
			equal(p, "turn", p.admit(alone(next)).Turn, 1)
		}},
		{"being alone is no part of what was asked for", func(p *probe) {
			r := alone(first)
			r.Key = "k"
			row := p.admit(r)
			p.admit(journal.Run{ID: "run 3", Conversation: talk})
			equal(p, "the same id again", p.admit(r), row)
			r.ID = next
			equal(p, "the same key again", p.admit(r), row)
			r.Alone = false
			equal(p, "the same key, not alone", p.admit(r), row)
			equal(p, "one that was not alone, alone", p.admit(alone("run 3")).Turn, 2)

			r.Alone, r.User = true, "bob"
			_, err := p.Store.Admit(p.ctx, r)
			p.refused("Admit of something else with the key", err, event.ErrConflict)
			r = alone(next)
			r.Tenant = "acme"
			_, err = p.Store.Admit(p.ctx, r)
			p.refused("Admit of another tenant", err, event.ErrNotFound)
		}},
		{"one that follows another is admitted where that one is the newest", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.take(first).end(event.RunFailed)
			row := p.admit(journal.Run{ID: next, Conversation: talk, Follows: 1, Key: "k", Alone: true})
			equal(p, "row", row, journal.Run{
				ID: next, Conversation: talk, Turn: 2, Key: "k", Status: event.RunQueued, Admitted: row.Admitted,
			})
			again := journal.Run{ID: "run 3", Conversation: talk, Follows: 1, Key: "k", Alone: true}
			equal(p, "the same key again", p.admit(again), row)
			_, err := p.Store.Admit(p.ctx, journal.Run{ID: "run 3", Conversation: talk, Follows: 1, Alone: true})
			p.refused("Admit behind the first, alone", err, event.ErrLocked)
		}},
		{"one that follows another is refused where that one is not the newest", func(p *probe) {
			refused := func(what string, r journal.Run, kind event.ErrorKind, code string) {
				p.Helper()
				_, err := p.Store.Admit(p.ctx, r)
				p.refused("Admit of one that follows "+what, err, kind)
				if e, ok := errors.AsType[*event.Error](err); ok && e.Code != code {
					p.Errorf("Admit of one that follows %s has the code %q, want %q", what, e.Code, code)
				}
			}
			refused("a run of no conversation", journal.Run{ID: next, Conversation: talk, Follows: 1}, event.ErrConflict, journal.CodePassed)
			p.admit(journal.Run{ID: first, Conversation: talk})
			refused("one that is to come", journal.Run{ID: next, Conversation: talk, Follows: 2}, event.ErrConflict, journal.CodePassed)
			refused("another tenant's", journal.Run{ID: next, Conversation: talk, Follows: 1, Tenant: "acme"}, event.ErrNotFound, "")
			p.take(first).end(event.RunFailed)
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.take(next).end(event.RunCompleted)
			refused("an earlier one", journal.Run{ID: "run 3", Conversation: talk, Follows: 1, Alone: true}, event.ErrConflict, journal.CodePassed)
			equal(p, "turn of the next run", p.admit(journal.Run{ID: "run 3", Conversation: talk}).Turn, 3)
		}},
		{"of fifty who follow the same run one is admitted", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.take(first).end(event.RunFailed)
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					switch _, err := p.Store.Admit(p.ctx, journal.Run{ID: fmt.Sprint(i), Conversation: talk, Follows: 1}); {
					case err == nil:
						admitted.Add(1)
					case !errors.Is(err, event.ErrConflict):
						p.Errorf("Admit: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "runs admitted", admitted.Load(), int64(1))
		}},
		{"of fifty who want to be alone one is", func(p *probe) {
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					switch _, err := p.Store.Admit(p.ctx, alone(fmt.Sprint(i))); {
					case err == nil:
						admitted.Add(1)
					case !errors.Is(err, event.ErrLocked):
						p.Errorf("Admit: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "runs admitted", admitted.Load(), int64(1))
			equal(p, "turn of the next run", p.admit(journal.Run{ID: next, Conversation: talk}).Turn, 2)
		}},
	}
}
