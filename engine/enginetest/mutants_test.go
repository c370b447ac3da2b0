package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// mutant is an engine with a planted bug.
type mutant struct {
	name string
	// catchers are the cases that are about it, as "group/case".
	catchers []string
	plant    func(b *bent)
}

// TestTheSuiteCatchesPlantedBugs shows that each bug makes the suite fail, in the
// very cases that are about it, and that there is no case that cannot fail.
func TestTheSuiteCatchesPlantedBugs(t *testing.T) {
	t.Parallel()
	cases := map[string]testCase{}
	for _, g := range groups() {
		for _, c := range g.cases {
			cases[g.name+"/"+c.name] = c
		}
	}
	caught := map[string]bool{}
	for _, m := range mutants() {
		for _, name := range m.catchers {
			c, known := cases[name]
			if !known {
				t.Fatalf("%s: there is no case %q", m.name, name)
			}
			caught[name] = true
			t.Run(m.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := try(t, c, func(_ TB, s Setup) engine.Engine { return bend(s, m) })
				if len(r.reasons) == 0 {
					t.Fatal("nothing sees it")
				}
				t.Logf("%.200s", r.reasons[0])
			})
		}
	}
	for name := range cases {
		if !caught[name] {
			t.Errorf("no planted bug fails %q: can it fail?", name)
		}
	}
}

// bent is an engine with some of its ways replaced.
type bent struct {
	*engine.Local
	store journal.Store

	options func(o *engine.Options)
	drive   func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error)
	due     func(rows []journal.Run) []journal.Run
	start   func(ctx context.Context) error
	submit  func(ctx context.Context, r journal.Run) (journal.Run, error)
	wake    func(ctx context.Context, r journal.Run) error
	cancel  func(ctx context.Context, r journal.Run, by string) error
	drain   func(ctx context.Context) error

	mu    sync.Mutex
	seen  []string
	calls int
}

// bend opens an engine with a bug. What it is given to the end is drained for real.
func bend(s Setup, m mutant) engine.Engine {
	b := &bent{store: s.Store}
	m.plant(b)
	if b.drive != nil {
		real := s.Drive
		s.Drive = func(ctx context.Context, w engine.Work) (engine.Outcome, error) { return b.drive(ctx, w, real) }
	}
	s.Store = &bentStore{Store: s.Store, b: b}
	b.Local = local(s, b.options)
	return b
}

type bentStore struct {
	journal.Store
	b *bent
}

func (s *bentStore) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	rows, err := s.Store.Due(ctx, limit)
	if s.b.due != nil {
		s.b.mu.Lock()
		defer s.b.mu.Unlock()
		rows = s.b.due(rows)
	}
	return rows, err
}

func (b *bent) Start(ctx context.Context) error {
	if b.start != nil {
		return b.start(ctx)
	}
	return b.Local.Start(ctx)
}

func (b *bent) Submit(ctx context.Context, r journal.Run) (journal.Run, error) {
	if b.submit != nil {
		return b.submit(ctx, r)
	}
	return b.Local.Submit(ctx, r)
}

func (b *bent) Wake(ctx context.Context, r journal.Run) error {
	if b.wake != nil {
		return b.wake(ctx, r)
	}
	return b.Local.Wake(ctx, r)
}

func (b *bent) Cancel(ctx context.Context, r journal.Run, by string) error {
	if b.cancel != nil {
		return b.cancel(ctx, r, by)
	}
	return b.Local.Cancel(ctx, r, by)
}

// Drain is replaced only for the case: the last one is real.
func (b *bent) Drain(ctx context.Context) error {
	b.mu.Lock()
	b.calls++
	replaced := b.drain != nil && b.calls == 1
	b.mu.Unlock()
	if replaced {
		return b.drain(ctx)
	}
	return b.Local.Drain(ctx)
}

// hides keeps due runs in these states from the engine.
func hides(states ...event.RunStatus) func([]journal.Run) []journal.Run {
	return func(rows []journal.Run) []journal.Run {
		return slices.DeleteFunc(rows, func(r journal.Run) bool { return slices.Contains(states, r.Status) })
	}
}

// swallows turns what a drive says into an end where it is of this kind.
func swallows(kind event.ErrorKind) func(context.Context, engine.Work, engine.Drive) (engine.Outcome, error) {
	return func(ctx context.Context, w engine.Work, drive engine.Drive) (out engine.Outcome, err error) {
		defer func() {
			if recover() != nil || errors.Is(err, kind) || err != nil && kind == "" {
				out, err = engine.Outcome{Status: event.RunCompleted}, nil
			}
		}()
		return drive(ctx, w)
	}
}

func quiet(context.Context, journal.Run) error { return nil }

func mutants() []mutant {
	return []mutant{
		{"nothing is driven", []string{"submit/a run is driven to its end, once"}, func(b *bent) {
			b.due = hides(event.RunQueued)
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) { return b.store.Admit(ctx, r) }
		}},
		{"everything is driven twice", []string{"submit/a run is driven to its end, once"}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				_, _ = drive(ctx, w)
				return out, err
			}
		}},
		{"the drive is told the id alone", []string{"submit/the drive is told who it is for"}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				w.Run = journal.Run{ID: w.Run.ID}
				return drive(ctx, w)
			}
		}},
		{"submitting starts", []string{"submit/what is submitted before the start waits for it"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				_ = b.Local.Start(ctx)
				return b.Local.Submit(ctx, r)
			}
		}},
		{"every submission is a new run", []string{"submit/the same run twice is once"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				b.mu.Lock()
				b.seen = append(b.seen, r.ID)
				r.ID += fmt.Sprint(len(b.seen))
				b.mu.Unlock()
				return b.Local.Submit(ctx, r)
			}
		}},
		{"keys are not kept", []string{"submit/the same key twice is once"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				r.Key = ""
				return b.Local.Submit(ctx, r)
			}
		}},
		{"refusals are swallowed", []string{"submit/what the journal refuses is refused"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				row, _ := b.Local.Submit(ctx, r)
				return row, nil
			}
		}},
		{"later runs of a conversation are forgotten", []string{
			"order/runs of one conversation go one after another",
			"order/a run behind one that waits begins when that has ended",
			"left/a message that came too late waits for the run behind",
		}, func(b *bent) {
			b.due = hides(event.RunQueued)
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				b.mu.Lock()
				known := slices.Contains(b.seen, r.Conversation)
				b.seen = append(b.seen, r.Conversation)
				b.mu.Unlock()
				if known {
					return b.store.Admit(ctx, r)
				}
				return b.Local.Submit(ctx, r)
			}
		}},
		{"one at a time", []string{"order/conversations go side by side"}, func(b *bent) {
			b.options = func(o *engine.Options) { o.Running = 1 }
		}},
		{"who waits is forgotten", []string{
			"wait/a waiting run is driven when it is woken", "wait/mail comes before the time",
		}, func(b *bent) { b.due, b.wake = hides(event.RunWaiting), quiet }},
		{"mail is not looked for", []string{
			"wait/mail of which nobody tells is found", "start/a timer that was set before the start rings",
		}, func(b *bent) { b.due = hides(event.RunWaiting) }},
		{"drives are not told of mail", []string{"wait/a run that is woken while it is driven is told"}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				w.Mail = make(chan struct{})
				return drive(ctx, w)
			}
		}},
		{"wake-ups get lost", []string{"wait/waking a run that is about to wait is not lost"}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				select {
				case <-w.Mail:
				default:
				}
				return out, err
			}
		}},
		{"waking in vain is an error", []string{"wait/waking without need does no harm"}, func(b *bent) {
			b.wake = func(context.Context, journal.Run) error { return errors.New("there is no such run") }
		}},
		{"runs that the journal made are forgotten", []string{
			"left/a message that came too late, and was told of in time, is driven",
			"left/a message that came too late, and whose news was taken, is driven",
			"left/a message that came too late, and was told of after the end, is driven",
			"left/a message that came too late, and that nobody told of, is driven",
		}, func(b *bent) {
			b.due = func(rows []journal.Run) []journal.Run {
				return slices.DeleteFunc(rows, func(r journal.Run) bool { return strings.HasSuffix(r.ID, "+") })
			}
		}},
		{"times are forgotten", []string{"wait/a waiting run is driven when its time comes"}, func(b *bent) {
			b.due = hides(event.RunWaiting)
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				out.WakeAt = time.Time{}
				return out, err
			}
		}},
		{"times come too early", []string{"wait/a waiting run is driven when its time comes"}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				if !out.WakeAt.IsZero() {
					out.WakeAt = out.WakeAt.Add(-2 * time.Second)
				}
				return out, err
			}
		}},
		{"a wish to cancel is only written down", []string{"cancel/a run that is driven is cancelled at once"}, func(b *bent) {
			b.cancel = func(ctx context.Context, r journal.Run, by string) error {
				return b.store.Post(ctx, journal.Mail{ID: "cancel", Run: r.ID, Kind: journal.MailCancel, By: by})
			}
		}},
		{"the cause is not told", []string{
			"cancel/a run that is driven is cancelled at once", "drain/a run that goes on is stopped when the time is over",
		}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				plain, cancel := context.WithCancel(context.WithoutCancel(ctx))
				defer cancel()
				stop := context.AfterFunc(ctx, cancel)
				defer stop()
				return drive(plain, w)
			}
		}},
		{"a wish to cancel is not written down", []string{
			"cancel/the wish is in the journal", "cancel/a run that is queued ends without its turn's work",
		}, func(b *bent) {
			b.cancel = func(ctx context.Context, r journal.Run, _ string) error { return b.Local.Wake(ctx, r) }
		}},
		{"cancelling always succeeds", []string{"cancel/what cannot be cancelled is refused"}, func(b *bent) {
			b.cancel = func(ctx context.Context, r journal.Run, by string) error {
				_ = b.Local.Cancel(ctx, r, by)
				return nil
			}
		}},
		{"what a dead process drove is forgotten", []string{"start/what was left over is driven"}, func(b *bent) {
			b.due = hides(event.RunRunning)
		}},
		{"it looks only once", []string{
			"start/what was admitted beside the engine is found", "start/many runs are picked up",
		}, func(b *bent) {
			b.due = func(rows []journal.Run) []journal.Run {
				b.calls++
				if b.calls > 1 {
					return nil
				}
				return rows[:min(100, len(rows))]
			}
		}},
		{"starting always succeeds", []string{"start/a journal that is away at the start is an error"}, func(b *bent) {
			b.start = func(ctx context.Context) error {
				_ = b.Local.Start(ctx)
				return nil
			}
		}},
		{"a drive that failed is over", []string{
			"trouble/a drive that fails is tried again", "trouble/so is one with an error of its own", "trouble/so is one that panics",
		}, func(b *bent) {
			b.drive = swallows("")
			b.due = hides(event.RunQueued)
		}},
		{"a drive that failed is tried at once", []string{
			"trouble/a drive that fails is tried again",
		}, func(b *bent) { b.options = func(o *engine.Options) { o.Retry, o.RetryMost = 1, 1 } }},
		{"handing back is ending", []string{"trouble/a run that was handed back is driven again"}, func(b *bent) {
			b.due = hides(event.RunRunning)
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				out.Status = event.RunCompleted
				return out, err
			}
		}},
		{"what is locked is over", []string{"trouble/a run that somebody else drives is taken when that one dies"}, func(b *bent) {
			b.due = hides(event.RunRunning)
			b.drive = swallows(event.ErrLocked)
		}},
		{"a lost lease is a failure like any other", []string{
			"trouble/a run that was lost to somebody else is left alone",
		}, func(b *bent) {
			b.drive = func(ctx context.Context, w engine.Work, drive engine.Drive) (engine.Outcome, error) {
				out, err := drive(ctx, w)
				if errors.Is(err, event.ErrLeaseLost) {
					err = errors.New("failed")
				}
				return out, err
			}
		}},
		{"there is no grace", []string{"drain/a run is handed back and goes on elsewhere"}, func(b *bent) {
			b.options = func(o *engine.Options) { o.Grace = -1 }
		}},
		{"draining does not wait", []string{"drain/a run that ends in time ends here"}, func(b *bent) {
			b.drain = func(context.Context) error { return nil }
		}},
		{"grace is without end", []string{"drain/a run that goes on is stopped when the time is over"}, func(b *bent) {
			b.options = func(o *engine.Options) { o.Grace = time.Hour }
		}},
		{"draining takes on more", []string{"drain/nothing begins after a drain"}, func(b *bent) {
			b.drain = func(context.Context) error { return nil }
		}},
		{"what comes after a drain is written", []string{"drain/what comes after a drain is refused and not written"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				_, _ = b.store.Admit(ctx, r)
				return b.Local.Submit(ctx, r)
			}
		}},
		{"draining needs a start", []string{"drain/an engine that was not started can be drained"}, func(b *bent) {
			b.drain = func(context.Context) error { return errors.New("not started") }
		}},
		{"there is no bound in all", []string{
			"bounds/no more runs at once than there may be", "bounds/a backlog that is full in all is refused",
		}, func(b *bent) { b.options = func(o *engine.Options) { o.Running, o.Backlog = 100, 1000 } }},
		{"there is no bound for a tenant", []string{
			"bounds/no more runs of a tenant at once than it may have", "bounds/a backlog that is full is refused and not written",
		}, func(b *bent) { b.options = func(o *engine.Options) { o.Share = nil } }},
		{"a full backlog is noticed too late", []string{"bounds/a backlog that is full is refused and not written"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				if _, err := b.store.Admit(ctx, r); err != nil {
					return journal.Run{}, err
				}
				return b.Local.Submit(ctx, r)
			}
		}},
		{"nobody is told when to come again", []string{"bounds/a backlog that is full is refused and not written"}, func(b *bent) {
			b.submit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				row, err := b.Local.Submit(ctx, r)
				if full, ok := errors.AsType[*event.Error](err); ok {
					full.RetryAfter = 0
				}
				return row, err
			}
		}},
		{"who comes first is served first", []string{"bounds/one tenant's backlog does not keep another waiting"}, func(b *bent) {
			b.options = func(o *engine.Options) {
				o.Share = func(tenant string) engine.Share {
					if tenant == "many" {
						return engine.Share{Weight: 1000}
					}
					return engine.Share{}
				}
			}
		}},
	}
}
