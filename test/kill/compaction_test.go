//go:build unix

package kill

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// shortened is what a compaction of a scope leaves out.
type shortened struct {
	*event.Compacted

	scope stepKey
	seq   int64
}

// covers reports whether s leaves out at least as much as o: it reaches as far and keeps no more.
// The latest user message is kept until there is a newer one.
func (s *shortened) covers(o shortened) bool {
	if s.scope != o.scope || s.Cut != o.Cut {
		return false
	}
	return o.To < s.To || o.To == s.To && len(o.Keep) >= len(s.Keep)
}

// scopeOf identifies the scope of an event. The root's is the same in all runs.
func scopeOf(e *event.Event) stepKey {
	if e.Scope == "" {
		return stepKey{}
	}
	return stepKey{e.Run, e.Scope}
}

// checkCompactions checks that content is compacted once, and that models are shown exactly the
// rest, with the newest summary in place of the compacted part.
func (c *checker) checkCompactions(t *talk) {
	var all []shortened
	of := map[attemptKey]int{}
	for i, e := range t.events {
		switch b := e.Body.(type) {
		case *event.StepEnded:
			if b.Step != event.StepCompaction || b.Outcome != event.OutcomeDone {
				continue
			}
			next := &event.Event{}
			if i+1 < len(t.events) {
				next = t.events[i+1]
			}
			if _, ok := next.Body.(*event.Compacted); !ok || next.Step != e.Step || next.Attempt != e.Attempt {
				c.find(once, "%s: the summary of %s of %s is paid for, and nothing is left out", t.id, e.Step, e.Run)
			}
		case *event.Compacted:
			c.count.compactions++
			if len(worker.SumsOf(b.Summary)) > 0 {
				c.count.summed++
			}
			at := shortened{b, scopeOf(e), e.Seq}
			if key := (attemptKey{stepKey{e.Run, e.Step}, e.Attempt}); e.Step != "" && !b.Cut {
				if of[key]++; of[key] > 1 {
					c.find(once, "%s: the summary of %s of %s is applied %d times", t.id, e.Step, e.Run, of[key])
				}
			}
			if slices.ContainsFunc(all, func(o shortened) bool { return o.covers(at) }) {
				c.find(once, "%s: what was left out until %d is left out again by event %d", t.id, b.To, e.Seq)
			}
			all = append(all, at)
		}
	}
	c.checkShown(t, all)
}

// checkShown compares what the models of a conversation were shown with its log.
func (c *checker) checkShown(t *talk, all []shortened) {
	runs := map[string]bool{}
	for i := range t.runs {
		runs[t.runs[i].ID] = true
	}
	for key, shown := range c.showings {
		if !runs[key.run] || c.steps[key.stepKey].kind != event.StepModel {
			continue
		}
		scope := stepKey{}
		if s := c.steps[key.stepKey]; s.scope != "" {
			scope = stepKey{key.run, s.scope}
		}
		marks, sums := t.visible(scope, c.places[key], all)
		for i := range shown {
			c.checkSight(t, key, &shown[i], marks, sums)
		}
	}
}

func (c *checker) checkSight(t *talk, key attemptKey, e *ledger.Entry, marks, sums []string) {
	at := t.id + ": " + key.step + " of " + key.run
	if e.Broken != "" {
		c.find(paired, "%s, attempt %d: %s", at, key.attempt, e.Broken)
	}
	if !slices.Equal(e.Marks, marks) {
		c.find(kept, "%s, attempt %d, shows the messages %v, and by the log it is %v", at, key.attempt, e.Marks, marks)
	}
	if !slices.Equal(e.Sums, sums) {
		c.find(kept, "%s, attempt %d, shows the summaries %v, and by the log it is %v", at, key.attempt, e.Sums, sums)
	}
}

// visible returns the user messages and summaries to show to a model that is called at a position
// in the log.
func (t *talk) visible(scope stepKey, at int64, all []shortened) (marks, sums []string) {
	var before []shortened
	for _, s := range all {
		if s.scope == scope && s.seq < at && !s.Cut {
			before, sums = append(before, s), worker.SumsOf(s.Summary)
		}
	}
	for _, e := range t.events {
		m, ok := e.Body.(*event.UserMessage)
		if !ok || e.Seq > at || scopeOf(e) != scope {
			continue
		}
		if !slices.ContainsFunc(before, func(s shortened) bool {
			return e.Seq >= s.From && e.Seq <= s.To && !slices.Contains(s.Keep, e.Seq)
		}) {
			marks = append(marks, worker.MarksOf(event.TextOf(m.Content))...)
		}
	}
	return marks, sums
}
