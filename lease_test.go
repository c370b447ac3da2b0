package braid_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// sleeper is an agent whose one tool takes d, or ends with its context.
func sleeper(d time.Duration) *braid.Agent {
	return braid.New("a", answers(asksFor("sleep", `{}`), says("awake")),
		braid.Func("sleep", "Sleeps.", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(d):
				return "slept", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, tool.Pure()))
}

func TestALongRunKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		var wg sync.WaitGroup
		wg.Go(func() {
			result, err := sleeper(5*time.Minute).Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
			if err != nil || result.Text() != "awake" {
				t.Errorf("got %v, %q", err, result.Text())
			}
		})
		for range 10 {
			time.Sleep(29 * time.Second)
			if _, err := sleeper(0).Resume(t.Context(), braid.Open(store, "c")); !errors.Is(err, event.ErrLocked) {
				t.Errorf("another driver got %v", err)
			}
		}
		wg.Wait()
	})
}

func TestCancellingFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// What renewals do not say, and whether somebody rings when the wish is there.
		noFlag, noLetter, rings bool
	}{
		"both said by a renewal":            {},
		"the flag, by a renewal":            {noLetter: true},
		"the letter, by a renewal":          {noFlag: true},
		"both, when it is rung":             {rings: true},
		"the flag alone, when it is rung":   {rings: true, noLetter: true},
		"the letter alone, when it is rung": {rings: true, noFlag: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &silent{Store: &journal.Memory{}, noFlag: c.noFlag, noLetter: c.noLetter}
				bell := make(chan struct{}, 1)
				begun := time.Now()
				time.AfterFunc(63*time.Second, func() { // between two renewals
					if err := braid.Open(store, "c").Cancel(t.Context()); err != nil {
						t.Error(err)
					}
					if c.rings {
						bell <- struct{}{}
					}
				})
				agent, conv := sleeper(time.Hour), braid.Open(store, "c")
				sent, err := agent.Send(t.Context(), conv, "sleep")
				if err != nil {
					t.Fatal(err)
				}
				r, err := agent.Drive(t.Context(), conv, sent.Run, braid.Work{Mail: bell})
				most := 70 * time.Second // a lease is renewed every three
				if c.rings {
					most = 64 * time.Second
				}
				if took := time.Since(begun); r == nil || r.Status != event.RunCancelled || took > most {
					t.Errorf("got %+v, %v after %v", r, err, took)
				}
			})
		})
	}
}

// silent is a store whose renewals do not say everything: any of what they say must do.
type silent struct {
	journal.Store
	noFlag, noLetter bool
}

func (s *silent) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	n, err := s.Store.Renew(ctx, l)
	n.Cancelled = n.Cancelled && !s.noFlag
	if s.noLetter {
		n.Mail = slices.DeleteFunc(n.Mail, func(m journal.Mail) bool { return m.Kind == journal.MailCancel })
	}
	return n, err
}

// failingStore fails renewals as it is told; where it is not told how, it does not
// answer.
type failingStore struct {
	journal.Store
	renew error
	until time.Time
}

func (s *failingStore) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if time.Now().Before(s.until) {
		if errors.Is(s.renew, event.ErrInternal) {
			<-ctx.Done()
		}
		return journal.News{}, s.renew
	}
	return s.Store.Renew(ctx, l)
}

func TestRenewalsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		down  time.Duration
		want  error
		after time.Duration
	}{
		{"for a while", event.ErrUnavailable, 8 * time.Second, nil, 5 * time.Minute},
		{"until the lease could run out", event.ErrUnavailable, time.Hour, event.ErrLeaseLost, 10 * time.Second},
		{"without an answer", event.ErrorKind(""), time.Hour, event.ErrLeaseLost, 10 * time.Second},
		{"because another has it", event.ErrLeaseLost, time.Hour, event.ErrLeaseLost, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{Store: &journal.Memory{}, renew: &event.Error{Kind: c.err.(event.ErrorKind)}, until: time.Now().Add(c.down)}
				begun := time.Now()
				_, err := sleeper(5*time.Minute).Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
				if took := time.Since(begun).Round(time.Second); !errors.Is(err, c.want) || took != c.after {
					t.Errorf("got %v after %v, want %v after %v", err, took, c.want, c.after)
				}
				if c.want == nil {
					return
				}
				// The run is not lost: another driver takes it over.
				time.Sleep(time.Minute)
				result, err := sleeper(time.Second).Resume(t.Context(), braid.Open(store.Store, "c"))
				if err != nil || result.Text() != "awake" {
					t.Errorf("taken over: %v, %q", err, result.Text())
				}
			})
		})
	}
}

// slowToTell is a store that renews a lease when it is asked, takes its time to say so, and is then out of reach.
type slowToTell struct {
	*journal.Memory
	takes time.Duration
	mu    sync.Mutex
	asked int
}

func (s *slowToTell) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	s.mu.Lock()
	s.asked++
	first := s.asked == 1
	s.mu.Unlock()
	if !first {
		return journal.News{}, &event.Error{Kind: event.ErrUnavailable, Message: "the store cannot be reached"}
	}
	news, err := s.Memory.Renew(ctx, l)
	time.Sleep(s.takes)
	return news, err
}

// A renewed lease counts from when its renewal was asked for, not from when the answer came: a slow store gives
// nobody more time than it has written down.
func TestARenewedLeaseCountsFromTheAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const term = journal.DefaultTerm
		store := &slowToTell{Memory: journal.NewMemory(journal.MemoryOptions{Term: term}), takes: term * 3 / 10}
		begun, ended := time.Now(), time.Duration(0)
		agent := braid.New("a", answers(asksFor("sleep", `{}`), says("awake")),
			braid.Func("sleep", "Sleeps.", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				ended = time.Since(begun)
				return "", ctx.Err()
			}, tool.Pure()))
		_, err := agent.Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
		if most := term/3 + term; !errors.Is(err, event.ErrLeaseLost) || ended == 0 || ended > most {
			t.Errorf("the tool was stopped after %v, and the lease ran out after %v: %v", ended, most, err)
		}
	})
}

// Of two letters that answer one question the first counts, whatever their ids are.
func TestAQuestionIsAnsweredOnceByMail(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	agent := braid.New("a", answers(asksFor("ask", `{}`), says("done")),
		braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
			return braid.Ask[string](ctx, "Which?")
		}))
	conv := braid.Open(store, "c")
	r, err := agent.Run(t.Context(), "go", braid.In(conv))
	if err != nil || len(r.Questions) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, value := range []string{`"first"`, `"second"`} {
		m := journal.Mail{ID: []string{"one", "two"}[i], Run: r.Run, Kind: journal.MailAnswer, Token: r.Questions[0].Token, Value: []byte(value)}
		if err := store.Post(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if r, err = agent.Resume(t.Context(), conv); err != nil || r.Text() != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	var given []string
	for _, e := range logOfConversation(t, conv) {
		if b, ok := e.Body.(*event.Answered); ok {
			given = append(given, string(b.Value))
		}
	}
	if !slices.Equal(given, []string{`"first"`}) {
		t.Errorf("the answers in the log are %v", given)
	}
}

// mortal is a store as one process has it, until that dies.
type mortal struct {
	*journal.Memory
	dead atomic.Bool
}

func (s *mortal) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Memory.Commit(ctx, l, b)
}

func (s *mortal) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if s.dead.Load() {
		return journal.News{}, errDead
	}
	return s.Memory.Renew(ctx, l)
}

// The clocks of a store and of those who drive its runs need not agree: a driver keeps its lease for as long as it works, and
// a dead one's run is taken after the lease's term, however far its clock is off.
func TestLeasesWithClocksThatDisagree(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"the same": 0, "the store a day ahead": 24 * time.Hour, "the store a day behind": -24 * time.Hour, "an hour": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &mortal{Memory: journal.NewMemory(journal.MemoryOptions{Now: func() time.Time { return time.Now().Add(off) }})}
				agent := sleeper(5 * time.Minute)
				if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("sleep")}); err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() { // its process dies after a minute
					_, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{})
					if !errors.Is(err, event.ErrLeaseLost) {
						t.Errorf("the driver that died got %v", err)
					}
				})
				other := braid.Open(store.Memory, "c")
				for range 5 {
					time.Sleep(11 * time.Second)
					if _, err := agent.Drive(t.Context(), other, "r", braid.Work{}); !errors.Is(err, event.ErrLocked) {
						t.Errorf("another driver got %v", err)
					}
				}
				store.dead.Store(true)
				wg.Wait()
				time.Sleep(journal.DefaultTerm)
				r, err := agent.Drive(t.Context(), other, "r", braid.Work{})
				if err != nil || r.Status != event.RunCompleted {
					t.Errorf("taken over: %+v, %v", r, err)
				}
			})
		})
	}
}
