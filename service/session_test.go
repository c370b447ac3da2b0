package service_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// say has a run say something and waits for its end.
func (h *house) say(t *testing.T, conv, text string) journal.Run {
	t.Helper()
	s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: text, Policy: braid.Queue})
	if err != nil {
		t.Fatal(err)
	}
	h.wait(t, conv, s)
	synctest.Wait()
	run, err := h.GetRun(t.Context(), ann, conv, s.Run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (h *house) session(t *testing.T, conv string) string {
	t.Helper()
	c, err := h.GetConversation(t.Context(), ann, conv)
	if err != nil {
		t.Fatal(err)
	}
	return c.SessionID
}

// lastSeen is what the model was shown last.
func (h *house) lastSeen(t *testing.T) string {
	t.Helper()
	var text []string
	for len(h.seen) > 0 {
		text = nil
		for _, m := range <-h.seen {
			text = append(text, m.Text())
		}
	}
	return strings.Join(text, " | ")
}

// A session goes on from run to run under one id. Setting that to null has the next run begin
// another one: the model sees nothing of the old, people all of it.
func TestSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		if got := h.session(t, conv); got != "" {
			t.Errorf("before anything was said the session is %q", got)
		}
		first := h.say(t, conv, "one")
		h.say(t, conv, "two")
		if got, want := h.session(t, conv), event.SessionID(conv, 1); got != want || first.Session != 1 {
			t.Errorf("the session is %q, want %q; the run's is %d", got, want, first.Session)
		}
		if got := h.lastSeen(t); !strings.Contains(got, "one") {
			t.Errorf("the model sees %q", got)
		}
		for range 2 { // twice is once
			c, err := h.UpdateConversation(t.Context(), ann, conv, service.Changes{Reset: true})
			if err != nil || c.SessionID != "" {
				t.Fatalf("after the reset the session is %q (%v)", c.SessionID, err)
			}
		}
		third := h.say(t, conv, "three")
		if got := h.lastSeen(t); got != "three" {
			t.Errorf("in the new session the model sees %q", got)
		}
		h.say(t, conv, "four")
		if got := h.lastSeen(t); !strings.HasPrefix(got, "three") {
			t.Errorf("in the new session the model then sees %q", got)
		}
		if got, want := h.session(t, conv), event.SessionID(conv, 2); got != want || third.Session != 2 {
			t.Errorf("the session is %q, want %q; the run's is %d", got, want, third.Session)
		}
		old, err := h.Events(t.Context(), ann, conv, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, e := range old {
			if b, ok := e.Body.(*event.UserMessage); ok {
				said += event.TextOf(b.Content) + " "
			}
		}
		if said != "one two three four " {
			t.Errorf("people read %q", said)
		}
	})
}

// others starts services over one journal and one set of rows.
func others(t *testing.T, n int, change func(*service.Options)) []*house {
	t.Helper()
	store, rows := &journal.Memory{}, &service.MemoryRows{}
	list := make([]*house, n)
	for i := range list {
		list[i] = open(t, func(o *service.Options) {
			o.Journal, o.Rows = store, rows
			if change != nil {
				change(o)
			}
		})
		list[i].store = store
	}
	return list
}

// Two processes begin one session where one was asked for, whichever of them was told.
func TestAResetAcrossProcesses(t *testing.T) {
	t.Parallel()
	for _, policy := range []braid.Policy{braid.Reject, braid.Queue} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				two := others(t, 2, slowly)
				conv := two[0].conversation(t)
				two[0].say(t, conv, "before")
				for round := 1; round <= 5; round++ {
					if _, err := two[round%2].ResetConversation(t.Context(), ann, conv); err != nil {
						t.Fatal(err)
					}
					var mu sync.Mutex
					var began []int
					var work sync.WaitGroup
					for i := range 10 {
						work.Go(func() {
							h := two[i%2]
							s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: fmt.Sprint("say ", i), Policy: policy})
							if err != nil {
								t.Error(err)
								return
							}
							h.wait(t, conv, s)
							mu.Lock()
							defer mu.Unlock()
							if s.Run.NewSession {
								began = append(began, s.Run.Turn)
							}
						})
					}
					work.Wait()
					if want := (round-1)*10 + 2; len(began) != 1 || began[0] != want {
						t.Errorf("round %d: the runs of turns %d began a session, want that of %d", round, began, want)
					}
					for _, h := range two {
						if got := h.session(t, conv); got != event.SessionID(conv, round+1) {
							t.Errorf("round %d: the session is %q", round, got)
						}
					}
				}
			})
		})
	}
}

// A fork's history is in its log once, before its first input, whichever process is first.
func TestAForkAcrossProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		two := others(t, 2, slowly)
		conv := two[0].conversation(t)
		two[0].say(t, conv, "remember 7")
		fork, err := two[1].ForkConversation(t.Context(), ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for _, policy := range []braid.Policy{braid.Queue, braid.Reject, braid.Steer, braid.Queue} {
			for _, h := range two {
				work.Go(func() {
					s, err := h.StartRun(t.Context(), ann, fork.ID, service.RunRequest{Input: "say", Policy: policy})
					if err != nil {
						t.Error(err)
					} else if !s.Joined {
						h.wait(t, fork.ID, s)
					}
				})
			}
		}
		work.Wait()
		events, err := two[0].Events(t.Context(), ann, fork.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, e := range events {
			if b, ok := e.Body.(*event.UserMessage); ok && event.TextOf(b.Content) == "remember 7" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("what the fork knows was told %d times", told)
		}
	})
}

// A reset that was asked for before turns were noted is not lost.
func TestAResetOfBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *service.Options) {
			rows, err := service.OpenRows(filepath.Join(t.TempDir(), "service.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = rows.Close() })
			o.Rows = rows
		})
		conv := h.conversation(t)
		h.say(t, conv, "one")
		if _, err := h.ResetConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		h.say(t, conv, "two")
		if err := h.Unsettle(context.Background(), ann, conv); err != nil {
			t.Fatal(err)
		}
		if got := h.session(t, conv); got != "" {
			t.Errorf("the session is %q", got)
		}
		if run := h.say(t, conv, "three"); run.Session != 3 {
			t.Errorf("the next run's session is %d", run.Session)
		}
		if run := h.say(t, conv, "four"); run.Session != 3 {
			t.Errorf("the session of the one behind it is %d", run.Session)
		}
	})
}
