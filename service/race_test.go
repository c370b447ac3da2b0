package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
)

// Two requests that come at once begin one session where one was asked for.
func TestTwoRunsAfterAReset(t *testing.T) {
	t.Parallel()
	for _, policy := range []braid.Policy{braid.Reject, braid.Queue} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := open(t, slowly)
				conv := h.conversation(t)
				if _, err := h.ResetConversation(t.Context(), ann, conv); err != nil {
					t.Fatal(err)
				}
				began := 0
				for _, s := range h.twoAtOnce(t, conv, policy) {
					if s.Run.NewSession {
						began++
					}
				}
				if began != 1 {
					t.Errorf("%d sessions were begun by one reset", began)
				}
			})
		})
	}
}

// A fork's history is in its log once, before its first input.
func TestTwoRunsInAFork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, slowly)
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "remember 7"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		fork, err := h.ForkConversation(t.Context(), ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		h.twoAtOnce(t, fork.ID, braid.Reject)
		said := 0
		events, err := h.Export(t.Context(), ann, fork.ID)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.UserMessage); ok && event.TextOf(b.Content) == "remember 7" {
				said++
			}
		}
		if said != 1 {
			t.Errorf("the fork's history is there %d times", said)
		}
	})
}

// slowly has requests look at the conversation long before they come into it.
func slowly(o *service.Options) {
	o.LockWait = time.Hour
	agent := o.Agent
	o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
		time.Sleep(time.Second)
		return agent(ctx, r)
	}
}

// twoAtOnce begins two runs and waits for both.
func (h *house) twoAtOnce(t *testing.T, conv string, policy braid.Policy) [2]service.Started {
	t.Helper()
	var got [2]service.Started
	var work sync.WaitGroup
	for i := range got {
		work.Go(func() {
			var err error
			if got[i], err = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: fmt.Sprint("say ", i), Policy: policy}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for _, s := range got {
		h.wait(t, conv, s)
	}
	return got
}

// Who watches a conversation that is deleted is told, and a run that comes at the same
// time is either in it or refused: nothing is left of it either way.
func TestDeletingUnderWatchersAndRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		f, err := h.Follow(t.Context(), ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		begun := time.Now()
		told := make(chan error, 1)
		go func() {
			var items [64]live.Item
			for {
				if _, err := f.Read(t.Context(), items[:]); err != nil {
					told <- err
					return
				}
			}
		}()
		synctest.Wait()
		if err := h.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		if err := <-told; !errors.Is(err, event.ErrNotFound) || time.Since(begun) > 0 {
			t.Errorf("after %v a watcher is told %v", time.Since(begun), err)
		}
	})
}

func TestDeletingWhileRunsBegin(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *service.Options) { o.LockWait = -1 })
	for range 60 { // the model tells of a hundred at most
		conv := h.conversation(t)
		var work sync.WaitGroup
		var startErr, deleteErr error
		work.Go(func() {
			_, startErr = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		})
		work.Go(func() { deleteErr = h.DeleteConversation(t.Context(), ann, conv) })
		work.Wait()
		switch {
		case deleteErr == nil && startErr != nil && !errors.Is(startErr, event.ErrNotFound):
			t.Fatalf("a run in a conversation that goes: %v", startErr)
		case deleteErr != nil && !errors.Is(deleteErr, event.ErrLocked):
			t.Fatalf("deleting under a run: %v", deleteErr)
		}
		if deleteErr == nil {
			events, err := h.store.Read(context.Background(), conv, 0, 10)
			if err != nil || len(events) > 0 {
				t.Fatalf("%d events are left of a conversation that has gone: %v", len(events), err)
			}
		}
	}
}

// Tokens are held for runs that are open and for no other.
func TestTokensAreHeldForOpenRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *service.Options) { o.LockWait = time.Millisecond })
		conv := h.conversation(t)
		start := func(input string, policy braid.Policy) (service.Started, error) {
			return h.StartRun(t.Context(), ann, conv, service.RunRequest{
				Input: input, Policy: policy, Tokens: map[string]secret.Secret{"t": secret.New("x")}, Executor: "web",
			})
		}
		first, err := start("use ask", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = start("hello", ""); !errors.Is(err, event.ErrLocked) {
			t.Fatal(err)
		}
		queued, err := start("hello", braid.Queue)
		if err != nil {
			t.Fatal(err)
		}
		if joined, err := start("hello", braid.Steer); err != nil || !joined.Joined {
			t.Fatalf("%+v %v", joined, err)
		}
		if _, err = start("hello", "shout"); err == nil {
			t.Fatal("there is no such policy")
		}
		if n := h.HeldTokens(); n != 2 {
			t.Errorf("there are tokens for %d runs, and 2 are open", n)
		}
		for _, s := range []service.Started{queued, first} {
			if err := h.CancelRun(t.Context(), ann, conv, s.Run.ID); err != nil {
				t.Fatal(err)
			}
		}
		h.wait(t, conv, first)
		h.wait(t, conv, queued)
		synctest.Wait()
		if n, locks := h.HeldTokens(), h.HeldLocks(); n != 0 || locks != 0 {
			t.Errorf("%d tokens and %d locks are left", n, locks)
		}
	})
}
