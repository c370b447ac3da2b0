package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func raceCases() []testCase {
	const drivers = 50
	return []testCase{
		{"fifty drivers fight for one conversation and there is one history", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			const rounds, size = 10, 3
			var mu sync.Mutex
			authors := map[int64]string{} // by epoch
			var wg sync.WaitGroup
			for d := range drivers {
				wg.Go(func() {
					author := fmt.Sprint("driver ", d)
					for range rounds {
						o, err := p.Store.Acquire(p.ctx, first, 0)
						if errors.Is(err, event.ErrLocked) {
							continue
						}
						if err != nil {
							p.Errorf("Acquire: %v", err)
							return
						}
						if err := dense(o.Events, o.Last); err != nil {
							p.Errorf("Acquire: %v", err)
						}
						w := &pen{p: p, lease: o.Lease, last: o.Last}
						for part := range size {
							e := note(fmt.Sprint(o.Lease.Epoch))
							e.Author = author
							b := w.batch(e)
							b.Release = part == size-1
							if err := p.Store.Commit(p.ctx, o.Lease, b); err != nil {
								p.Errorf("Commit under a lease in force: %v", err)
								return
							}
							w.last++
						}
						if err := p.Store.Commit(p.ctx, o.Lease, w.batch(note("late"))); !errors.Is(err, event.ErrLeaseLost) {
							p.Errorf("Commit after the release: error is %v, want %s", err, event.ErrLeaseLost)
						}
						mu.Lock()
						if who, ok := authors[o.Lease.Epoch]; ok {
							p.Errorf("%s and %s were both given epoch %d", who, author, o.Lease.Epoch)
						}
						authors[o.Lease.Epoch] = author
						mu.Unlock()
					}
				})
			}
			wg.Wait()

			log := p.log(talk)
			p.ok("the log", dense(log, int64(len(authors)*size)))
			var before string
			for i := 0; i < len(log); i += size {
				for _, e := range log[i : i+size] {
					if e.Author != log[i].Author || code(e) != code(log[i]) {
						p.Fatalf("event %d is %s's in the middle of what %s wrote", e.Seq, e.Author, log[i].Author)
					}
				}
				if code(log[i]) == before {
					p.Fatalf("epoch %s wrote twice", before)
				}
				before = code(log[i])
			}
		}},
		{"of fifty different commits at one place one is stored", func(p *probe) {
			w := p.start()
			var stored, lost atomic.Int64
			var wg sync.WaitGroup
			for d := range drivers {
				b := w.batch(begun(fmt.Sprint("t", d), 1, event.StepTool), note("n"))
				wg.Go(func() {
					switch err := p.Store.Commit(p.ctx, w.lease, b); {
					case err == nil:
						stored.Add(1)
					case errors.Is(err, event.ErrLeaseLost):
						lost.Add(1)
					default:
						p.Errorf("Commit: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "commits stored", stored.Load(), int64(1))
			equal(p, "commits refused", lost.Load(), int64(drivers-1))
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2})
		}},
		{"of fifty equal commits all succeed and one is stored", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			b := w.ending(event.RunCompleted, note("n"))
			b.Read = []string{"a"}
			var wg sync.WaitGroup
			for range drivers {
				wg.Go(func() {
					if err := p.Store.Commit(p.ctx, w.lease, b); err != nil {
						p.Errorf("Commit: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2})
		}},
		{"of fifty who acquire one gets the lease", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			var taken atomic.Int64
			var wg sync.WaitGroup
			for range drivers {
				wg.Go(func() {
					if _, err := p.Store.Acquire(p.ctx, first, 0); err == nil {
						taken.Add(1)
					} else if !errors.Is(err, event.ErrLocked) {
						p.Errorf("Acquire: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "leases", taken.Load(), int64(1))
		}},
		{"mail that is posted while others read is neither lost nor doubled", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			var posting, wg sync.WaitGroup
			for d := range drivers {
				posting.Go(func() {
					for range 2 {
						if err := p.Store.Post(p.ctx, letter(fmt.Sprint(d), first)); err != nil {
							p.Errorf("Post: %v", err)
						}
					}
				})
			}
			var posted atomic.Bool
			defer wg.Wait()
			wg.Go(func() {
				posting.Wait()
				posted.Store(true)
			})
			read := map[string]bool{}
			for all := false; !all; {
				// Load before acquiring: the lease then shows at least these.
				all = posted.Load()
				w := p.take(first)
				ids := mailIDs(w.opened.Mail)
				for _, id := range ids {
					if read[id] {
						p.Fatalf("letter %s came twice", id)
					}
					read[id] = true
				}
				w.commit(journal.Batch{Read: ids, Release: true})
			}
			equal(p, "letters", len(read), drivers)
		}},
		{"mail that is posted while the run ends is refused, or is with the next", func(p *probe) {
			const last = 20
			p.admit(journal.Run{ID: first, Conversation: talk})
			var mu sync.Mutex
			posted := map[string]bool{}
			for _, id := range []string{"a", "b", "c"} {
				p.post(letter(id, first))
				posted[id] = true
			}
			var wg sync.WaitGroup
			for d := range last {
				wg.Go(func() {
					run := first
					for i := range 20 {
						id := fmt.Sprint(d, "-", i)
						switch err := p.Store.Post(p.ctx, letter(id, run)); {
						case err == nil:
							mu.Lock()
							posted[id] = true
							mu.Unlock()
						case errors.Is(err, event.ErrConflict):
							run += "+" // it exists once this run has ended with unread mail
						case !errors.Is(err, event.ErrNotFound):
							p.Errorf("Post: %v", err)
						}
					}
				})
			}
			read := map[string]bool{}
			take := func(mail []journal.Mail) (ids []string) {
				for _, m := range mail {
					if read[m.ID] {
						p.Errorf("letter %s came twice", m.ID)
					}
					read[m.ID] = true
					ids = append(ids, m.ID)
				}
				return ids
			}
			run := first
			for range last {
				w := p.take(run)
				b := w.ending(event.RunCompleted)
				// Read half of the mail and leave the rest.
				mail := w.renew().Mail
				b.Read = take(mail[:len(mail)/2])
				w.commit(b)
				due := p.due(0)
				if len(due) == 0 {
					break // no unread mail
				}
				run = due[0]
			}
			wg.Wait()
			for _, id := range p.due(0) {
				take(p.acquire(id, 0).Mail)
			}
			equal(p, "letters read", len(read), len(posted))
			for id := range posted {
				if !read[id] {
					p.Errorf("letter %s is lost", id)
				}
			}
		}},
		{"conversations in parallel share their tenant's state", func(p *probe) {
			var wg sync.WaitGroup
			defer wg.Wait()
			for d := range drivers {
				w := p.startIn(fmt.Sprint("talk ", d), fmt.Sprint("run ", d))
				wg.Go(func() {
					b := w.ending(event.RunCompleted, set(fmt.Sprint("app:", d), fmt.Sprint(d)))
					if err := p.Store.Commit(p.ctx, w.lease, b); err != nil {
						p.Errorf("Commit: %v", err)
					}
				})
			}
			wg.Wait()
			equal(p, "values", len(p.startIn("reader", "reader").opened.Shared), drivers)
			p.wantDue()
		}},
	}
}

// dense reports whether events are the whole log up to last.
func dense(events []*event.Event, last int64) error {
	if int64(len(events)) != last {
		return fmt.Errorf("%d events, want %d", len(events), last)
	}
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			return fmt.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
	return nil
}

func code(e *event.Event) string {
	if n, ok := e.Body.(*event.Notice); ok {
		return n.Code
	}
	return ""
}
