package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
)

const failedNote = "[The previous request failed before it was answered. Its messages and the results of its tools are kept above.]"

// reader is an agent that reads pages one after the other, and whose model fails as often as it is told.
type reader struct {
	*braid.Agent
	reads, fails int
	seen         []string
}

func newReader(pages, failAt, fails int, parts ...braid.Part) *reader {
	r := &reader{fails: fails}
	r.Agent = braid.New("reader", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		r.seen = append(r.seen, brief(req.Messages))
		n := strings.Count(brief(req.Messages), "page ")
		switch {
		case n == failAt && r.fails > 0:
			r.fails--
			return failing(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
		case n < pages:
			return chunks(asksFor("read", `{}`))
		default:
			return chunks(says("done"))
		}
	}}, append(parts, braid.Func("read", "", func(context.Context, nothing) (string, error) {
		r.reads++
		return fmt.Sprintf("page %d", r.reads), nil
	}))...)
	return r
}

func stores(t *testing.T) map[string]journal.Store {
	t.Helper()
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return map[string]journal.Store{"memory": &journal.Memory{}, "sqlite": s}
}

// A failed run keeps its work: the next run's model sees the messages and results, and that it failed. An
// agent that forgets shows a note of the effects alone.
func TestAFailedRunKeepsItsWork(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		for name, store := range stores(t) {
			var parts []braid.Part
			if forgets {
				parts = append(parts, braid.ForgetFailed())
			}
			r := newReader(3, 2, 1, parts...)
			if _, err := r.Run(t.Context(), "read all", braid.In(braid.Open(store, "talk"))); !errors.Is(err, event.ErrModelAuth) {
				t.Fatal(err)
			}
			if _, err := r.Run(t.Context(), "go on", braid.In(braid.Open(store, "talk"))); err != nil {
				t.Fatal(err)
			}
			want := "user:read all assistant:[c0] user:(c0 page 1) assistant:[c0] user:(c0 page 2)" + failedNote + "go on"
			if forgets {
				want = "user:[The previous request failed and is not part of this conversation. Its tool calls may have had effects:" +
					"\n- read (call c0): finished\n- read (call c0): finished]go on"
			}
			if got := r.seen[3]; got != want {
				t.Errorf("%s, forgets %v: the next run sees\n%s\nwant\n%s", name, forgets, got, want)
			}
		}
	}
}

// A failed run is continued at the step that failed, in this process or in another, as often as it fails:
// no finished step is repeated, and nothing of the log is changed.
func TestAFailedRunIsContinued(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		for _, warm := range []bool{false, true} {
			for name, store := range stores(t) {
				var parts []braid.Part
				if forgets {
					parts = append(parts, braid.ForgetFailed())
				}
				r := newReader(20, 18, 2, append(parts, braid.Limit(braid.Limits{Cycles: 25}))...)
				kept := braid.Open(store, "talk")
				conv := func() *braid.Conversation {
					if warm {
						return kept
					}
					return braid.Open(store, "talk")
				}
				first, err := r.Run(t.Context(), "read all", braid.In(conv()))
				if !errors.Is(err, event.ErrModelAuth) {
					t.Fatal(err)
				}
				again, err := r.Resume(t.Context(), conv())
				if !errors.Is(err, event.ErrModelAuth) || again.Run == first.Run {
					t.Fatalf("%s: %+v, %v", name, again, err)
				}
				last, err := r.Resume(t.Context(), conv(), braid.Key("k"))
				if err != nil || last.Text() != "done" || r.reads != 20 {
					t.Errorf("%s, forgets %v, warm %v: %q after %d reads: %v", name, forgets, warm, last.Text(), r.reads, err)
				}
				if got := r.seen[len(r.seen)-1]; strings.Count(got, "page ") != 20 || strings.Contains(got, "failed") || strings.Count(got, "read all") != 1 {
					t.Errorf("%s: the model sees %s", name, got)
				}
				// Said again under its key it is the same run, and after it nothing is left to continue.
				same, err := r.Resume(t.Context(), conv(), braid.Key("k"))
				if err == nil && same.Run != last.Run {
					t.Errorf("%s: the repeat is run %s", name, same.Run)
				}
				if _, err := r.Resume(t.Context(), conv()); !errors.Is(err, event.ErrConflict) {
					t.Errorf("%s: a completed run is continued: %v", name, err)
				}
				if _, err := r.Run(t.Context(), "and now?", braid.In(conv())); err != nil {
					t.Fatal(err)
				}
				if got := r.seen[len(r.seen)-1]; strings.Count(got, "page ") != 20 || !strings.HasSuffix(got, "assistant:done user:and now?") || strings.Contains(got, "failed") {
					t.Errorf("%s, forgets %v, warm %v: the next run sees %s", name, forgets, warm, got)
				}
				continues := map[string]string{}
				for e, err := range conv().Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if b, ok := e.Body.(*event.RunStarted); ok {
						continues[e.Run] = b.Continues
					}
				}
				if continues[first.Run] != "" || continues[again.Run] != first.Run || continues[last.Run] != again.Run {
					t.Errorf("%s: the runs continue %v", name, continues)
				}
			}
		}
	}
}

// What cannot be continued: a run that failed before it began, and one with a later run behind it.
func TestWhatCannotBeContinued(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	refuses := braid.New("reader", answers(says("so")), braid.On(func(context.Context, *hook.BeforeRun) error { return errors.New("no") }))
	conv := braid.Open(store, "talk")
	if _, err := refuses.Run(t.Context(), "hello", braid.In(conv)); err == nil {
		t.Fatal("it did not fail")
	}
	// Its input is shown to nobody either: the hook may have refused it.
	if _, err := refuses.Resume(t.Context(), conv); !errors.Is(err, event.ErrConflict) {
		t.Errorf("it failed before it began: %v", err)
	}
	if messages, err := conv.Messages(t.Context()); err != nil || len(messages) > 0 {
		t.Errorf("the next run sees %s: %v", brief(messages), err)
	}
	r := newReader(1, 1, 1)
	if _, err := r.Run(t.Context(), "read", braid.In(conv)); err == nil {
		t.Fatal("it did not fail")
	}
	if _, err := r.Run(t.Context(), "never mind", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resume(t.Context(), conv); !errors.Is(err, event.ErrConflict) {
		t.Errorf("a later run is there: %v", err)
	}
}
