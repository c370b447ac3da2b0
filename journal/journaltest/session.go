package journaltest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// place returns the conversation's position, or ends the case.
func (p *probe) place(conversation string, since int) journal.Position {
	p.Helper()
	at, err := p.Store.Position(p.ctx, conversation, since)
	p.ok("Place", err)
	at.Epoch = 0 // has its own case
	return at
}

// play acquires a run, begins it in a session and ends it.
func (p *probe) play(run string, session int) {
	p.Helper()
	w := p.take(run)
	w.write(event.Event{Body: &event.RunStarted{Session: session}})
	w.end(event.RunCompleted)
}

func sessionCases() []testCase {
	since := func(id string, turn int) journal.Run { return journal.Run{ID: id, Conversation: talk, Since: turn} }
	said := func(text string) []event.Message {
		return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}}
	}
	return []testCase{
		{"the first run since a turn begins a session, and no other", func(p *probe) {
			for i := range 3 {
				equal(p, "a session of one that was not asked to begin one",
					p.admit(journal.Run{ID: fmt.Sprint(i), Conversation: talk}).NewSession, false)
			}
			row := p.admit(since("3", 4))
			equal(p, "row", row, journal.Run{
				ID: "3", Conversation: talk, Turn: 4, NewSession: true, Status: event.RunQueued, Admitted: row.Admitted,
			})
			equal(p, "the one behind it", p.admit(since("4", 4)).NewSession, false)
			equal(p, "the one that knows nothing of it", p.admit(journal.Run{ID: "5", Conversation: talk}).NewSession, false)
			equal(p, "the next one of before", p.admit(since("6", 4)).NewSession, false)
			equal(p, "one since a later turn", p.admit(since("7", 8)).NewSession, true)
			equal(p, "elsewhere", p.admit(journal.Run{ID: "8", Conversation: other, Since: 1}).NewSession, true)
		}},
		{"a run's row has the place of its first event", func(p *probe) {
			firsts := func(what string, want ...int64) {
				p.Helper()
				runs, err := p.Store.Runs(p.ctx, talk, 0, 0)
				p.ok("Runs", err)
				queue, err := p.Store.Queue(p.ctx, talk)
				p.ok("Queue", err)
				for i, r := range runs {
					equal(p, what+": runs", r.First, want[i])
				}
				for _, r := range queue {
					equal(p, what+": queue", r.First, want[r.Turn-1])
				}
			}
			p.admit(journal.Run{ID: "0", Conversation: talk, First: 7})
			p.admit(journal.Run{ID: "1", Conversation: talk})
			firsts("before they began", 0, 0)
			p.play("0", 1)
			firsts("after the first ended", 1, 0)
			w := p.take("1")
			w.write(event.Event{Body: &event.RunStarted{Session: 1}})
			firsts("while the second runs", 1, 3)
		}},
		{"the place of a conversation has the epoch of its newest lease", func(p *probe) {
			is := func(what string, want int64) {
				p.Helper()
				at, err := p.Store.Position(p.ctx, talk, 0)
				p.ok("Place", err)
				equal(p, what, at.Epoch, want)
			}
			is("without a conversation", 0)
			p.admit(journal.Run{ID: "0", Conversation: talk})
			is("before the first lease", 0)
			w := p.take("0")
			is("under a lease", w.lease.Epoch)
			w.write(event.Event{Body: &event.RunStarted{Session: 1}})
			w.end(event.RunCompleted)
			is("after the run's end", w.lease.Epoch)
		}},
		{"a run that came in between does not take the session", func(p *probe) {
			// A caller has noted turn 2, and a run that did not know of it was faster.
			p.admit(journal.Run{ID: "0", Conversation: talk})
			p.admit(journal.Run{ID: "1", Conversation: talk})
			equal(p, "the next one that knows", p.admit(since("2", 2)).NewSession, true)
			equal(p, "the one behind it", p.admit(since("3", 2)).NewSession, false)
		}},
		{"what stands before the first run stands before no other", func(p *probe) {
			with := func(id, text string) journal.Run {
				return journal.Run{ID: id, Conversation: talk, Key: id, Input: said(text), Past: said("before")}
			}
			equal(p, "input of the first", p.admit(with(first, "a")).Input, append(said("before"), said("a")...))
			equal(p, "input of the second", p.admit(with(next, "b")).Input, said("b"))
			equal(p, "input as it is kept", p.take(first).opened.Run.Input, append(said("before"), said("a")...))
		}},
		{"a repeat is known, whatever was decided", func(p *probe) {
			r := since(first, 1)
			r.Key, r.Input, r.Past = "k", said("a"), said("before")
			row := p.admit(r)
			equal(p, "the same again", p.admit(r), row)
			r.Since, r.ID = 2, next
			equal(p, "since a later turn", p.admit(r), row)
			_, err := p.Store.Admit(p.ctx, journal.Run{ID: next, Conversation: talk, Key: "k", Input: said("b"), Past: said("before"), Since: 1})
			p.refused("Admit of something else with the key", err, event.ErrConflict)
			second := journal.Run{ID: "run 3", Conversation: talk, Key: "k3", Input: said("a"), Past: said("before"), Since: 1}
			row = p.admit(second)
			equal(p, "turn", row.Turn, 2)
			equal(p, "the second again", p.admit(second), row)
			second.Input = append(said("before"), said("a")...)
			_, err = p.Store.Admit(p.ctx, second)
			p.refused("Admit of the second with what it did not have", err, event.ErrConflict)
		}},
		{"of fifty at once one begins the session and one has the past", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: other})
			var begun, told atomic.Int64
			turns := map[int]int{}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					row, err := p.Store.Admit(p.ctx, journal.Run{ID: fmt.Sprint(i), Conversation: talk, Since: 1, Input: said("a"), Past: said("b")})
					if err != nil {
						p.Errorf("Admit: %v", err)
						return
					}
					if row.NewSession {
						begun.Add(1)
					}
					if len(row.Input) > 1 {
						told.Add(1)
					}
					mu.Lock()
					turns[row.Turn]++
					mu.Unlock()
				})
			}
			wg.Wait()
			equal(p, "sessions begun", begun.Load(), int64(1))
			equal(p, "pasts told", told.Load(), int64(1))
			for turn := range 50 {
				equal(p, fmt.Sprint("runs of turn ", turn+1), turns[turn+1], 1)
			}
		}},
		{"a run says in which session it began", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(since(next, 2))
			p.play(first, 1)
			equal(p, "session of the first", p.row(journal.Run{ID: first, Conversation: talk}).Session, 1)
			equal(p, "session of one that waits", p.take(next).opened.Run.Session, 0)
		}},
		{"the place is told without the log", func(p *probe) {
			equal(p, "a conversation that is not there", p.place(talk, 1), journal.Position{})
			p.admit(journal.Run{ID: "0", Conversation: talk})
			equal(p, "before the first has begun", p.place(talk, 1), journal.Position{Turns: 1, Session: 1})
			p.play("0", 1)
			equal(p, "after it", p.place(talk, 2), journal.Position{Turns: 1, Session: 1})
			p.admit(since("1", 2))
			equal(p, "with one that will begin a session", p.place(talk, 2), journal.Position{Turns: 2, Session: 2, Begun: true})
			equal(p, "asked about a later turn", p.place(talk, 3), journal.Position{Turns: 2, Session: 2})
			equal(p, "asked about none", p.place(talk, 0), journal.Position{Turns: 2, Session: 2})
			p.admit(journal.Run{ID: "2", Conversation: talk})
			p.admit(since("3", 4))
			equal(p, "with three that wait", p.place(talk, 4), journal.Position{Turns: 4, Session: 3, Begun: true})
			p.play("1", 2)
			equal(p, "with two that wait", p.place(talk, 2), journal.Position{Turns: 4, Session: 3, Begun: true})
			p.admit(journal.Run{ID: "4", Conversation: other, Since: 1})
			equal(p, "a first run that is to begin a session", p.place(other, 1), journal.Position{Turns: 1, Session: 1, Begun: true})
		}},
	}
}
