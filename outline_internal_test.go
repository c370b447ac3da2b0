package braid

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// sameOutline holds the outline of a log to its whole fold: after every event both name the same agents at work, the same
// steps in flight and the same open questions.
func sameOutline(log []*event.Event) error {
	c := fold.New(nil)
	var o fold.Outline[struct{}, struct{}]
	for n, e := range log {
		o.Add(e)
		if c.Add(e); c.Stale {
			c = fold.New(log[:n+1])
		}
		if !c.Open() || c.Run.ID != e.Run {
			continue
		}
		if err := compareOutline(c.Run, &o); err != nil {
			return fmt.Errorf("after event %d, a %s: %w", n+1, e.Body.Kind(), err)
		}
	}
	return nil
}

func compareOutline(r *fold.Run, o *fold.Outline[struct{}, struct{}]) error {
	begun := map[string]bool{} // those of summaries may be given up
	for _, s := range r.Scopes {
		t := o.Thread(s.ID)
		if t == nil || t.Closed != (s.Closed != nil) || t.Agent != s.Agent {
			return fmt.Errorf("scope %q of %q, closed %v, is the thread %+v", s.ID, s.Agent, s.Closed != nil, t)
		}
		if s.Closed != nil {
			continue
		}
		if s.Model.State == fold.ModelBegun {
			begun[s.Model.Step] = true
		}
		if s.Compaction().State == fold.ModelBegun {
			begun[s.Compaction().Step] = true
		}
		for _, call := range s.Batch.Calls {
			if call.State != fold.CallEnded && call.Attempt > 0 {
				begun[call.Step] = true
			}
		}
	}
	open := map[string]bool{}
	for s := range o.Open() {
		open[s.ID] = true
		if !begun[s.ID] && s.Begun.Step != event.StepCompaction {
			return fmt.Errorf("the step %q is open in the outline alone", s.ID)
		}
	}
	for id := range begun {
		if !open[id] {
			return fmt.Errorf("the outline has not the open step %q", id)
		}
	}
	for _, q := range r.Questions {
		if asked := o.Question(q.Token); asked == nil || asked.Prompt != q.Prompt {
			return fmt.Errorf("the outline has %+v for the question %q", asked, q.Token)
		}
	}
	same := func(a, b event.Question) bool { return a.Token == b.Token && a.Step == b.Step && a.Scope == b.Scope }
	if want := r.OpenQuestions(); !slices.EqualFunc(want, o.Questions(), same) {
		return fmt.Errorf("the outline has the open questions %+v, not %+v", o.Questions(), want)
	}
	return nil
}

func TestFrozenJournalsHaveTheSameOutline(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no frozen journal", err)
	}
	for _, file := range files {
		for name, log := range foldtest.FrozenLogs(t, file) {
			if err := sameOutline(log); err != nil {
				t.Errorf("%s, conversation %s: %v", file, name, err)
			}
		}
	}
}
