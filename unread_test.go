package braid_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// cursed is a store from which a conversation cannot be read: reading it ends the process, or panics.
type cursed struct {
	deadly

	// kills says for how many readings the process ends, panics that reading panics instead.
	kills  int
	panics bool
}

func (s *cursed) curse() error {
	if s.kills == 0 {
		return nil
	}
	s.kills--
	if s.panics {
		panic("the log cannot be folded")
	}
	s.dead = true
	return errDead
}

func (s *cursed) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	if limit != 1 { // one event can be read
		if err := s.curse(); err != nil {
			return nil, err
		}
	}
	return s.Memory.Read(ctx, conversation, after, limit)
}

func (s *cursed) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	if err := s.curse(); err != nil {
		return journal.Tail{}, err
	}
	return s.Memory.Tail(ctx, conversation)
}

func (s *cursed) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	if err := s.curse(); err != nil {
		return journal.StoredTail{}, err
	}
	return s.Memory.StoredTail(ctx, conversation)
}

// Reading a conversation may end the process, too. A run whose drivers die over that is not driven for ever: it
// ends as failed without being read. Where reading panics, the first drive ends the run.
func TestAConversationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const always = 1 << 20
	for _, c := range []struct {
		name   string
		kills  int
		panics bool
		limit  int
		// earlier has a run that completed before.
		earlier bool
		cancel  bool
		// read says that the log can be read in the end.
		read   bool
		drives int
		status event.RunStatus
		kind   event.ErrorKind
	}{
		{name: "it kills", kills: always, drives: 7, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "it kills behind other runs", kills: always, earlier: true, drives: 7, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "it kills, and one death is enough", kills: always, limit: 1, drives: 3, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "it kills a run that was cancelled", kills: always, cancel: true, drives: 7, status: event.RunCancelled, kind: event.ErrCancelled},
		{name: "it kills until the run is given up", kills: 3, read: true, drives: 4, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "it kills twice", kills: 2, drives: 3, status: event.RunCompleted},
		{name: "it panics", kills: always, panics: true, drives: 1, status: event.RunFailed, kind: event.ErrInternal},
		{name: "it panics behind other runs", kills: always, panics: true, earlier: true, drives: 1, status: event.RunFailed, kind: event.ErrInternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := journal.NewMemory(journal.MemoryOptions{})
				store := &cursed{deadly: deadly{Memory: memory}}
				agent := braid.New("a", answers(says("hello")), braid.Limit(braid.Limits{LostDrivers: c.limit}))
				if c.earlier {
					if _, err := agent.Run(t.Context(), "before", braid.In(braid.Open(memory, "c"))); err != nil {
						t.Fatal(err)
					}
				}
				store.kills, store.panics = c.kills, c.panics
				// drive drives a run with one process after another, until one lives.
				drive := func(run string) (drives int, r *braid.Result, err error) {
					for drives = 1; drives <= 10; drives++ {
						r, err = agent.Drive(t.Context(), braid.Open(store, "c"), run, braid.Work{})
						if !store.dead {
							break
						}
						store.dead = false
						time.Sleep(2 * journal.DefaultTerm)
					}
					return drives, r, err
				}
				admit := func(run string) {
					t.Helper()
					if _, err := memory.Admit(t.Context(), journal.Run{ID: run, Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
						t.Fatal(err)
					}
				}
				admit("r")
				if c.cancel {
					if err := memory.Post(t.Context(), journal.Mail{ID: "cancel-r", Run: "r", Kind: journal.MailCancel}); err != nil {
						t.Fatal(err)
					}
				}
				drives, r, err := drive("r")
				defer func() {
					if c.status == event.RunCompleted {
						return
					}
					// The next run finds out at once, and others go on when the reason is gone.
					if store.kills == 0 {
						store.kills = 1
					}
					admit("next")
					drives, r, err := drive("next")
					status := event.RunFailed
					if c.read {
						status = event.RunCompleted
					}
					if want := min(c.drives, 2); err != nil || r.Status != status || drives != want {
						t.Errorf("after %d drives the next run is %q: %v, want %d and %s", drives, r.Status, err, want, status)
					}
					store.kills = 0
					admit("last")
					if drives, r, err = drive("last"); err != nil || r.Status != event.RunCompleted || drives != 1 {
						t.Errorf("after %d drives the last run is %q: %v", drives, r.Status, err)
					}
				}()
				if err != nil || r.Status != c.status || r.Run != "r" || drives != c.drives {
					t.Fatalf("after %d drives the run %q is %q: %v", drives, r.Run, r.Status, err)
				}
				log := logOfConversation(t, braid.Open(memory, "c"))
				end, ok := log[len(log)-1].Body.(*event.RunEnded)
				if c.status != event.RunCompleted && countSaid(log, "go") != 1 {
					t.Errorf("the input is in the log %d times", countSaid(log, "go"))
				}
				if !ok || event.KindOf(errOf(end)) != c.kind {
					t.Errorf("the run ends with %+v", log[len(log)-1].Body)
				}
			})
		})
	}
}

func countSaid(log []*event.Event, text string) (n int) {
	for _, e := range log {
		if m, ok := e.Body.(*event.UserMessage); ok && event.TextOf(m.Content) == text {
			n++
		}
	}
	return n
}
