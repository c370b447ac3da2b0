package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/engine/enginetest"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Open: func(_ enginetest.TB, s enginetest.Setup) engine.Engine {
			return engine.NewLocal(s.Store, s.Drive, engine.Options{
				Running: s.Running, Backlog: s.Backlog, Grace: s.Grace,
				Share: func(string) engine.Share { return engine.Share{Running: s.TenantRunning, Backlog: s.TenantBacklog} },
			})
		},
		Around: synctest.Test,
	})
}

// site is an engine at work in a bubble, with drives that do what they are told.
// Its sweeps are an hour apart, so that nothing is found that was not told.
type site struct {
	*testing.T
	store *slowStore
	local *engine.Local

	mu sync.Mutex
	// does says what a drive of a run does; nil ends it.
	does map[string]func(ctx context.Context, w engine.Work) (engine.Outcome, error)
	// drives are those that were asked for, and at the time since the beginning.
	drives []string
	times  map[string][]time.Duration
	works  []engine.Work
	begun  time.Time
}

// slowStore is a journal whose Due can be held up.
type slowStore struct {
	journal.Memory
	mu  sync.Mutex
	due func(ctx context.Context, rows []journal.Run) ([]journal.Run, error)
}

// onDue says what becomes of the rows that are due.
func (s *slowStore) onDue(due func(ctx context.Context, rows []journal.Run) ([]journal.Run, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = due
}

func (s *slowStore) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	rows, err := s.Memory.Due(ctx, limit)
	s.mu.Lock()
	due := s.due
	s.mu.Unlock()
	if due == nil || err != nil {
		return rows, err
	}
	return due(ctx, rows)
}

// at builds a site in a bubble and takes it down after the test.
func at(t *testing.T, options engine.Options, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{
			T: t, store: &slowStore{}, times: map[string][]time.Duration{}, begun: time.Now(),
			does: map[string]func(context.Context, engine.Work) (engine.Outcome, error){},
		}
		if options.Sweep == 0 {
			options.Sweep = time.Hour
		}
		s.local = engine.NewLocal(s.store, s.drive, options)
		test(s)
		if err := s.local.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if got := s.local.Held(); got != 0 {
			t.Errorf("after the drain %d things are held", got)
		}
	})
}

func (s *site) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	s.mu.Lock()
	s.drives = append(s.drives, w.Run.ID)
	s.times[w.Run.ID] = append(s.times[w.Run.ID], time.Since(s.begun))
	s.works = append(s.works, w)
	do := s.does[w.Run.ID]
	s.mu.Unlock()
	if do == nil {
		do = s.finish
	}
	return do(ctx, w)
}

// will says what a run's drives do.
func (s *site) will(run string, do func(ctx context.Context, w engine.Work) (engine.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.does[run] = do
}

// take takes the lease and commits b.
func (s *site) take(run string, b journal.Batch, bodies ...event.Body) error {
	opened, err := s.store.Acquire(context.Background(), run, 0)
	if err != nil {
		return err
	}
	for i, body := range bodies {
		b.Events = append(b.Events, &event.Event{Header: event.Header{
			Seq: opened.Last + 1 + int64(i), Run: run, Conversation: opened.Run.Conversation,
		}, Body: body})
	}
	for _, m := range opened.Mail {
		b.Read = append(b.Read, m.ID)
	}
	return s.store.Commit(context.Background(), opened.Lease, b)
}

func (s *site) finish(_ context.Context, w engine.Work) (engine.Outcome, error) {
	err := s.take(w.Run.ID, journal.Batch{Status: event.RunCompleted}, &event.RunEnded{Status: event.RunCompleted})
	return engine.Outcome{Status: event.RunCompleted}, err
}

// parkOnce waits the first time, until wake if that is set, and ends then.
func (s *site) parkOnce(wait time.Duration) func(context.Context, engine.Work) (engine.Outcome, error) {
	parked := false
	return func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
		if parked {
			return s.finish(ctx, w)
		}
		parked = true
		out := engine.Outcome{Status: event.RunWaiting}
		if wait > 0 {
			out.WakeAt = time.Now().Add(wait)
		}
		return out, s.take(w.Run.ID, journal.Batch{Status: event.RunWaiting, WakeAt: out.WakeAt})
	}
}

func (s *site) start() {
	s.Helper()
	if err := s.local.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func run(id, talk string) journal.Run {
	return journal.Run{ID: id, Conversation: talk, Tenant: "tenant", Input: []event.Message{{Role: event.RoleUser}}}
}

func (s *site) submit(r journal.Run) {
	s.Helper()
	if _, err := s.local.Submit(s.Context(), r); err != nil {
		s.Fatal(err)
	}
}

func (s *site) wake(r journal.Run) {
	s.Helper()
	if err := s.local.Wake(s.Context(), r); err != nil {
		s.Fatal(err)
	}
}

// saw wants these drives so far, once everything rests.
func (s *site) saw(want ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.drives, want) {
		s.Errorf("drives were %q, want %q", s.drives, want)
	}
}

// A run that the journal made for a message is driven at once where somebody told
// of that message, before the run's end or after it.
func TestARunMadeForMailStartsAtOnce(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "before, and the drive was told", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			at(t, engine.Options{}, func(s *site) {
				s.start()
				a := run("a", "talk")
				s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
					opened, err := s.store.Acquire(ctx, "a", 0)
					if err != nil {
						return engine.Outcome{}, err
					}
					if err := s.store.Post(ctx, journal.Mail{ID: "m", Run: "a", Kind: journal.MailMessage}); err != nil {
						return engine.Outcome{}, err
					}
					if when != "after" {
						s.wake(a)
					}
					if strings.HasSuffix(when, "told") {
						<-w.Mail
					}
					end := &event.Event{
						Header: event.Header{Seq: opened.Last + 1, Run: "a", Conversation: "talk"},
						Body:   &event.RunEnded{Status: event.RunCompleted},
					}
					b := journal.Batch{Status: event.RunCompleted, Events: []*event.Event{end}}
					return engine.Outcome{Status: event.RunCompleted}, s.store.Commit(ctx, opened.Lease, b)
				})
				s.submit(a)
				if when != "after" {
					s.saw("a", "a+")
					return
				}
				s.saw("a")
				s.wake(a)
				s.saw("a", "a", "a+")
			})
		})
	}
}

func TestARunBehindAnotherStartsWhenThatEnds(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		s.will("a", s.parkOnce(0))
		s.submit(run("a", "talk"))
		s.saw("a")
		if got := s.local.Held(); got != 0 {
			s.Errorf("a run that waits for mail holds %d things", got)
		}
		s.submit(run("b", "talk"))
		s.submit(run("c", "talk"))
		s.saw("a", "b", "c") // the journal refuses both: the engine had let go of a
		s.wake(run("a", "talk"))
		s.saw("a", "b", "c", "a", "b", "c")
	})
}

// The engine is told in any order; it asks in the order of the turns.
func TestTurnsGoInOrder(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		var rows []journal.Run
		for _, id := range []string{"a", "b", "c"} {
			row, err := s.store.Admit(s.Context(), run(id, "talk"))
			if err != nil {
				s.Fatal(err)
			}
			rows = append(rows, row)
		}
		for _, i := range []int{2, 0, 1} {
			s.wake(rows[i])
		}
		s.start()
		s.saw("a", "b", "c")
	})
}

// A run that was woken without its turn is taken for the first of its
// conversation; where it is not, the others go on all the same.
func TestAWrongWakeUpHoldsNothingUp(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		for _, id := range []string{"a", "b", "c"} {
			s.submit(run(id, "talk"))
		}
		s.wake(run("c", "talk"))
		if _, err := s.store.Admit(s.Context(), run("d", "talk")); err != nil {
			s.Fatal(err)
		}
		s.wake(run("d", "talk"))
		s.start()
		s.saw("d", "a", "d", "b", "d", "c", "d")
	})
}

// The same while an earlier one is under way: the one that was woken is the
// first, and the later one is in its place.
func TestAWakeUpOvertakesALaterRun(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		s.will("a", s.parkOnce(0))
		s.submit(run("a", "talk"))
		s.saw("a")
		release := make(chan struct{})
		s.will("b", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			<-release
			return s.finish(ctx, w)
		})
		s.submit(run("b", "talk"))
		s.wake(run("a", "talk"))
		s.saw("a", "b") // it has not been refused yet
		close(release)
		s.saw("a", "b", "a", "b")
	})
}

// When the earlier run ends elsewhere, a sweep tells.
func TestASweepFreesWhoWaitedForARunElsewhere(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{Sweep: 2 * time.Second}, func(s *site) {
		s.start()
		if _, err := s.store.Admit(s.Context(), run("a", "talk")); err != nil {
			s.Fatal(err)
		}
		if err := s.take("a", journal.Batch{Status: event.RunWaiting}); err != nil {
			s.Fatal(err)
		}
		s.submit(run("b", "talk"))
		s.saw("b")
		time.Sleep(time.Minute)
		s.saw("b")
		err := s.take("a", journal.Batch{Status: event.RunCompleted}, &event.RunEnded{Status: event.RunCompleted})
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		s.saw("b", "b")
	})
}

func TestTimersAreExact(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		for i, wait := range []time.Duration{3 * time.Hour, time.Millisecond, 5 * time.Minute, time.Hour} {
			id := fmt.Sprint(i)
			s.will(id, s.parkOnce(wait))
			s.submit(run(id, id))
		}
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		for i, want := range []time.Duration{3 * time.Hour, time.Millisecond, 5 * time.Minute, time.Hour} {
			if got := s.times[fmt.Sprint(i)]; len(got) != 2 || got[1] != want {
				s.Errorf("run %d was driven at %v, want again at %v", i, got, want)
			}
		}
	})
}

// What fails is tried again at growing intervals, and mail does not hurry it;
// somebody who wants it to end does.
func TestFailuresAreTriedLaterEachTime(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		s.will("a", func(context.Context, engine.Work) (engine.Outcome, error) {
			return engine.Outcome{}, errors.New("no luck")
		})
		s.submit(run("a", "talk"))
		for range 200 {
			time.Sleep(time.Second)
			s.wake(run("a", "talk"))
		}
		synctest.Wait()
		var want []time.Duration
		for _, seconds := range []int{0, 1, 3, 7, 15, 31, 63, 123, 183} {
			want = append(want, time.Duration(seconds)*time.Second)
		}
		if got := s.times["a"]; !slices.Equal(got, want) {
			s.Errorf("it was tried at %v, want %v", got, want)
		}
		s.will("a", nil)
		if err := s.local.Cancel(s.Context(), run("a", "talk"), "somebody"); err != nil {
			s.Fatal(err)
		}
		synctest.Wait()
		if got := s.times["a"]; got[len(got)-1] != 200*time.Second {
			s.Errorf("cancelled after 200s, it was driven last at %v", got[len(got)-1])
		}
	})
}

func TestAnErrorMaySayWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []event.ErrorKind{event.ErrLocked, event.ErrOverloaded} {
		at(t, engine.Options{}, func(s *site) {
			s.start()
			first := true
			s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
				if !first {
					return s.finish(ctx, w)
				}
				first = false
				return engine.Outcome{}, &event.Error{Kind: kind, Message: "not now", RetryAfter: 17 * time.Second}
			})
			s.submit(run("a", "talk"))
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := s.times["a"]; len(got) != 2 || got[1] != 17*time.Second {
				s.Errorf("%s: it was tried at %v, want again after 17s", kind, got)
			}
		})
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	options := engine.Options{Running: 1, Priority: func(r journal.Run) int { return len(r.Metadata["urgency"]) }}
	at(t, options, func(s *site) {
		for i, urgency := range []string{"", "!", "", "!!", "!", ""} {
			id := fmt.Sprint(i, urgency)
			r := run(id, id)
			r.Metadata = map[string]string{"urgency": urgency}
			s.submit(r)
		}
		// Somebody wants the last one to end: that goes before everything.
		if err := s.local.Cancel(s.Context(), run("5", "5"), "somebody"); err != nil {
			s.Fatal(err)
		}
		s.start()
		s.saw("5", "3!!", "1!", "4!", "0", "2")
	})
}

// A run that was driven well in between begins its failures anew.
func TestFailuresAreCountedInARow(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		park, n := s.parkOnce(10*time.Second), 0
		s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			n++
			if n == 3 || n > 5 {
				return park(ctx, w)
			}
			return engine.Outcome{}, errors.New("no luck")
		})
		s.submit(run("a", "talk"))
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 13 * time.Second, 14 * time.Second, 16 * time.Second}
		if got := s.times["a"]; !slices.Equal(got, want) {
			s.Errorf("it was driven at %v, want %v", got, want)
		}
	})
}

// What is refused leaves nothing behind.
func TestARefusedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{Share: func(string) engine.Share { return engine.Share{Backlog: 1} }}, func(s *site) {
		if _, err := s.local.Submit(s.Context(), journal.Run{Tenant: "nobody"}); !errors.Is(err, event.ErrInvalid) {
			s.Errorf("Submit without an id: %v", err)
		}
		if got := s.local.Held(); got != 0 {
			s.Errorf("it left %d things", got)
		}
	})
}

// A backlog keeps no inputs in memory.
func TestTheEngineKeepsNoInput(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{}, func(s *site) {
		s.start()
		s.submit(run("a", "talk"))
		s.saw("a")
		if s.works[0].Run.Input != nil || s.works[0].Run.Turn != 1 {
			s.Errorf("the drive was given %+v", s.works[0].Run)
		}
	})
}

// What a slow journal says is held against what has happened meanwhile.
func TestAnOldAnswerIsNotTaken(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{Sweep: time.Second}, func(s *site) {
		s.start()
		slow := make(chan struct{})
		s.store.onDue(func(_ context.Context, rows []journal.Run) ([]journal.Run, error) {
			<-slow
			return rows, nil
		})
		release := make(chan struct{})
		s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			<-release
			return s.finish(ctx, w)
		})
		s.submit(run("a", "talk"))
		time.Sleep(1500 * time.Millisecond) // the sweep has read that a is queued
		close(release)
		s.saw("a")
		close(slow)
		s.saw("a")
	})
}

// One tenant's left-over runs do not hide another's behind them.
func TestASweepLooksFurther(t *testing.T) {
	t.Parallel()
	options := engine.Options{Running: 1, Share: func(string) engine.Share { return engine.Share{Backlog: 10} }}
	at(t, options, func(s *site) {
		for i := range 5000 {
			id := fmt.Sprint("many ", i)
			r := run(id, id)
			r.Tenant = "many"
			if _, err := s.store.Admit(s.Context(), r); err != nil {
				s.Fatal(err)
			}
		}
		r := run("few", "few")
		r.Tenant = "few"
		if _, err := s.store.Admit(s.Context(), r); err != nil {
			s.Fatal(err)
		}
		s.start()
		synctest.Wait()
		if i := slices.Index(s.drives, "few"); i < 0 || i > 2 {
			s.Errorf("the other tenant's run was driven as number %d of %d", i+1, len(s.drives))
		}
	})
}

// Asking takes a small part of the time where the journal is slow; where it is
// very slow it is asked now and then all the same.
func TestSlowSweepsAreRare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ takes, most, least int }{
		{100, 720, 700},    // milliseconds, and a pause of 50 times as long
		{10_000, 181, 170}, // and a pause of 10 s
	} {
		at(t, engine.Options{Sweep: time.Second}, func(s *site) {
			s.start()
			asked := 0
			s.store.onDue(func(ctx context.Context, rows []journal.Run) ([]journal.Run, error) {
				asked++
				select {
				case <-time.After(time.Duration(c.takes) * time.Millisecond):
				case <-ctx.Done():
				}
				return rows, nil
			})
			time.Sleep(time.Hour)
			synctest.Wait()
			if asked > c.most || asked < c.least {
				s.Errorf("it was asked %d times in an hour for %d ms each", asked, c.takes)
			}
		})
	}
}

// A journal that does not answer holds no drain up.
func TestDrainDoesNotWaitForASweep(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{Sweep: time.Second}, func(s *site) {
		s.start()
		s.store.onDue(func(ctx context.Context, _ []journal.Run) ([]journal.Run, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		time.Sleep(2 * time.Second)
		begun := time.Now()
		if err := s.local.Drain(s.Context()); err != nil {
			s.Error(err)
		}
		if took := time.Since(begun); took > 0 {
			s.Errorf("it took %v", took)
		}
	})
}

// A drive that listens to nothing is reported, and the drain still ends.
func TestDrainReportsWhoStays(t *testing.T) {
	t.Parallel()
	at(t, engine.Options{Grace: time.Second}, func(s *site) {
		s.start()
		release := make(chan struct{})
		for _, id := range []string{"a", "b"} {
			s.will(id, func(context.Context, engine.Work) (engine.Outcome, error) {
				<-release
				return engine.Outcome{}, nil
			})
			s.submit(run(id, id))
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		err := s.local.Drain(ctx)
		if !errors.Is(err, event.ErrTimeout) || !strings.Contains(err.Error(), "2 runs") {
			s.Errorf("Drain: %v, want that 2 runs stayed", err)
		}
		close(release)
	})
}

// Who is refused is told a time that fits how fast runs are started.
func TestRetryAfterFollowsThePace(t *testing.T) {
	t.Parallel()
	options := engine.Options{Running: 1, Share: func(string) engine.Share { return engine.Share{Backlog: 20} }}
	at(t, options, func(s *site) {
		s.start()
		for i := range 100 {
			id := fmt.Sprint(i)
			s.will(id, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
				time.Sleep(5 * time.Second)
				return s.finish(ctx, w)
			})
		}
		next := 0
		var full *event.Error
		for begun := time.Now(); time.Since(begun) < 5*time.Minute; time.Sleep(time.Second) {
			id := fmt.Sprint(next)
			_, err := s.local.Submit(s.Context(), run(id, id))
			if err == nil {
				next++
			} else if !errors.As(err, &full) {
				s.Fatal(err)
			}
		}
		if full == nil || full.RetryAfter < 5*time.Second || full.RetryAfter > time.Minute {
			s.Errorf("a run takes 5s and 20 are queued: %+v", full)
		}
	})
}

// Every line of the log says whose run it is about.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	at(t, engine.Options{Log: log}, func(s *site) {
		s.start()
		tries := 0
		s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			if tries++; tries > 1 {
				return s.finish(ctx, w)
			}
			return engine.Outcome{}, errors.New(w.Run.ID[tries:][5:])
		})
		s.submit(run("a", "talk"))
		time.Sleep(2 * time.Second)
		s.saw("a", "a")
	})
	for _, want := range []string{`"tenant":"tenant"`, `"run":"a"`, `"conversation":"talk"`, "slice bounds out of range"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %s: %s", want, &out)
		}
	}
}
