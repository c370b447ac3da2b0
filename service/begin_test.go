package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service"
)

// beginner is a journal that counts how runs come into it, and can refuse them.
type beginner struct {
	*sqlite.Store

	begins, admits atomic.Int64
	// refuse is the error of Begin, and full that of Admit; nil is none.
	refuse, full func() error
}

func (b *beginner) Begin(ctx context.Context, r journal.Run, o *journal.Opened, batch journal.Batch) error {
	b.begins.Add(1)
	if b.refuse != nil {
		if err := b.refuse(); err != nil {
			return err
		}
	}
	return b.Store.Begin(ctx, r, o, batch)
}

func (b *beginner) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	b.admits.Add(1)
	if b.full != nil {
		if err := b.full(); err != nil {
			return journal.Run{}, err
		}
	}
	return b.Store.Admit(ctx, r)
}

// openBeginner starts a service on SQLite.
func openBeginner(t *testing.T) (*beginner, *service.Service, string) {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &beginner{Store: store}
	s, err := service.New(service.Options{
		Journal: b, Rows: &service.MemoryRows{},
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", parrot{}), nil
		},
	})
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Drain(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	c, err := s.CreateConversation(t.Context(), ann, service.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	return b, s, c.ID
}

// watched begins a run and follows it to its end.
func watched(t *testing.T, s *service.Service, conversation string) journal.Run {
	t.Helper()
	started, err := s.StartRun(t.Context(), ann, conversation, service.RunRequest{Input: "go", Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Follower.Close()
	var items [16]live.Item
	begun := false
	for {
		n, err := started.Follower.Read(t.Context(), items[:])
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items[:n] {
			if item.Event == nil || item.Event.Run != started.Run.ID { // the end of the run before may come first
				continue
			}
			switch body := item.Event.Body.(type) {
			case *event.RunStarted:
				begun = true
			case *event.RunEnded:
				if !begun || body.Status != event.RunCompleted {
					t.Errorf("the run ended as %s; its beginning came: %t", body.Status, begun)
				}
				return started.Run
			}
		}
	}
}

// A run that need not wait comes into the journal with its first events, in one commit.
func TestARunBeginsInOneCommit(t *testing.T) {
	t.Parallel()
	b, s, conversation := openBeginner(t)
	for turn := 1; turn <= 3; turn++ {
		if run := watched(t, s, conversation); run.Turn != turn {
			t.Errorf("the run has turn %d, want %d", run.Turn, turn)
		}
	}
	// A run may come before the drive of the one before it has returned, and is then submitted.
	if begins, admits := b.begins.Load(), b.admits.Load(); begins == 0 || begins+admits != 3 {
		t.Errorf("%d runs began with their first commit, %d were admitted", begins, admits)
	}
}

// What keeps a run from beginning at once keeps it from nothing else.
func TestARunThatCannotBeginAtOnceIsSubmitted(t *testing.T) {
	t.Parallel()
	for _, kind := range []event.ErrorKind{event.ErrConflict, event.ErrLocked, event.ErrStorageFull, event.ErrUnavailable} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b, s, conversation := openBeginner(t)
			b.refuse = func() error { return &event.Error{Kind: kind, Message: "not now"} }
			run := watched(t, s, conversation)
			if run.Turn != 1 || b.begins.Load() != 1 || b.admits.Load() != 1 {
				t.Errorf("turn %d, %d begins, %d admissions; want one of each", run.Turn, b.begins.Load(), b.admits.Load())
			}
			runs, err := s.ListRuns(t.Context(), ann, conversation, 0, 10)
			if err != nil || len(runs) != 1 || runs[0].ID != run.ID {
				t.Errorf("the conversation has the runs %v: %v", runs, err)
			}
		})
	}
}

// A run for which there is no space is refused, and nothing of it is left.
func TestARunThatIsRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	b, s, conversation := openBeginner(t)
	var space atomic.Bool
	full := func() error {
		if space.Load() {
			return nil
		}
		return &event.Error{Kind: event.ErrStorageFull, Message: "no space"}
	}
	b.refuse, b.full = full, full
	_, err := s.StartRun(t.Context(), ann, conversation, service.RunRequest{Input: "go", Watch: true})
	if !errors.Is(err, event.ErrStorageFull) {
		t.Fatalf("StartRun: %v, want %v", err, event.ErrStorageFull)
	}
	space.Store(true)
	runs, err := s.ListRuns(t.Context(), ann, conversation, 0, 10)
	if err != nil || len(runs) > 0 {
		t.Errorf("the conversation has the runs %v: %v", runs, err)
	}
	if run := watched(t, s, conversation); run.Turn != 1 {
		t.Errorf("the next run has turn %d", run.Turn)
	}
}

// Who gives up before the first commit has begun nothing; after that the run is in the journal.
func TestARequestThatIsGivenUp(t *testing.T) {
	t.Parallel()
	b, s, conversation := openBeginner(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.refuse = func() error {
		cancel() // while the commit is under way
		return nil
	}
	started, err := s.StartRun(ctx, ann, conversation, service.RunRequest{Input: "go", Watch: true})
	if err != nil {
		t.Fatalf("a run that was begun was refused: %v", err)
	}
	started.Follower.Close()
	runs, err := s.ListRuns(t.Context(), ann, conversation, 0, 10)
	if err != nil || len(runs) != 1 || runs[0].ID != started.Run.ID {
		t.Errorf("the conversation has the runs %v: %v", runs, err)
	}
}
