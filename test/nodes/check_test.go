//go:build unix

package nodes

import (
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/logcheck"
)

// figures count what a checked crowd has done.
type figures struct {
	talks, runs, events, effects int
	takeovers, doubts, repeats   int
	longest                      time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("%d conversations, %d runs, %d events, %d effects, %d takeovers, %d in doubt, %d attempts repeated, the longest turn %v",
		f.talks, f.runs, f.events, f.effects, f.takeovers, f.doubts, f.repeats, f.longest.Round(10*time.Millisecond))
}

// check compares what the crowd saw and the ledger recorded with the journal.
//
//   - The log keeps the promises about every log, with the lease of each write ([logcheck.Check], also used by the
//     simulation): an old holder has written nothing.
//   - Each run has one beginning, one end and its turn. None failed.
//   - A finished step never begins again, and ends once.
//   - A tool that must not be repeated acted once, or at most once if the log says that it is in doubt. Others acted
//     at most as often as attempts began.
//   - Each client saw one end of each run, the one in the journal.
func (c *crowd) check(b *base, l *ledger) (f figures) {
	c.t.Helper()
	store := b.journal(c.t)
	for _, k := range c.talks {
		f.talks++
		runs, err := store.Runs(c.t.Context(), k.id, 0, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		events, err := store.Read(c.t.Context(), k.id, 0, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		f.events += len(events)
		entries := make([]logcheck.Entry, 0, len(events))
		epoch, run := int64(0), ""
		for _, w := range b.writes(c.t, k.id) {
			for len(entries) < len(events) && events[len(entries)].Seq <= w.Last {
				entries = append(entries, logcheck.Entry{Event: events[len(entries)], Epoch: w.Epoch})
			}
			now := events[w.Last-1].Run
			if w.Epoch > epoch && now == run {
				f.takeovers++
			}
			epoch, run = w.Epoch, now
		}
		if len(entries) != len(events) {
			c.t.Errorf("%s: %d of %d events were written under a lease", k.id, len(entries), len(events))
		}
		for _, f := range logcheck.Check(entries, func(run string) string { return run }) {
			c.t.Errorf("%s: %s: %s", k.id, f.Promise, f.Says)
		}
		ends := c.checkLog(k, events, &f, l)
		for i := range runs {
			r := &runs[i]
			f.runs++
			if r.Turn != i+1 || r.Status != event.RunCompleted || ends[r.ID] != 1 {
				c.t.Errorf("%s: run %s has turn %d, is %s, and has %d ends in the log", k.id, r.ID, r.Turn, r.Status, ends[r.ID])
			}
			if n := k.watched[r.ID]; n != 1 {
				c.t.Errorf("%s: the watcher saw %d ends of run %s (turn %d of %d)", k.id, n, r.ID, r.Turn, len(runs))
			}
		}
		if len(runs) != len(k.turns) {
			c.t.Errorf("%s: %d messages were said, and there are %d runs", k.id, len(k.turns), len(runs))
		}
		for _, t := range k.turns {
			f.longest = max(f.longest, t.took)
			if t.ends != 1 || t.err != nil {
				c.t.Errorf("%s: who said %s saw %d ends of it: %v", k.id, t.mark, t.ends, t.err)
			}
		}
	}
	return f
}

type stepKey struct{ run, step string }

// checkLog checks one log and returns how many ends each run has in it.
func (c *crowd) checkLog(k *talk, events []*event.Event, f *figures, l *ledger) map[string]int {
	type step struct {
		begun, ends int
		tool, mark  string
		part        string
		doubt       bool
	}
	steps, ends, begins := map[stepKey]*step{}, map[string]int{}, map[string]int{}
	inputs := map[string]string{}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			c.t.Errorf("%s: event %d has the number %d", k.id, i+1, e.Seq)
		}
		if ends[e.Run] > 0 {
			c.t.Errorf("%s: run %s says %s after its end", k.id, e.Run, e.Body.Kind())
		}
		at := stepKey{e.Run, e.Step}
		switch b := e.Body.(type) {
		case *event.RunStarted:
			if begins[e.Run]++; begins[e.Run] > 1 {
				c.t.Errorf("%s: run %s begins %d times", k.id, e.Run, begins[e.Run])
			}
		case *event.RunEnded:
			ends[e.Run]++
		case *event.UserMessage:
			inputs[e.Run] = event.TextOf(b.Content)
		case *event.StepBegun:
			s := steps[at]
			if s == nil {
				s = &step{}
				steps[at] = s
			}
			if s.begun++; e.Attempt != s.begun || s.ends > 0 {
				c.t.Errorf("%s: %s of %s begins attempt %d as number %d, and has ended %d times", k.id, e.Step, e.Run, e.Attempt, s.begun, s.ends)
			}
			if s.begun > 1 {
				f.repeats++
			}
			s.tool = strings.TrimPrefix(b.Tool, "ledger___")
			words := strings.Fields(inputs[e.Run])
			if s.mark = ""; len(words) > 0 {
				s.mark = words[len(words)-1]
			}
			if s.part = "first"; s.tool == "note" {
				s.part = "second"
			}
		case *event.AssistantMessage:
			if s := steps[at]; s != nil && !b.Piece {
				s.ends++
			}
		case *event.StepEnded:
			s := steps[at]
			if s == nil || b.Outcome == event.OutcomeLost || !b.RetryAt.IsZero() {
				break
			}
			if s.ends++; b.Outcome == event.OutcomeInDoubt {
				s.doubt = true
				f.doubts++
			}
		}
	}
	for at, s := range steps {
		if s.ends != 1 {
			c.t.Errorf("%s: %s of %s ended %d times", k.id, at.step, at.run, s.ends)
		}
		if s.tool == "" {
			continue
		}
		n := l.count(effect{s.tool, s.mark, s.part})
		f.effects += n
		switch {
		case s.tool == "pay" && n > 1, !s.doubt && n == 0, n > s.begun:
			c.t.Errorf("%s: %s for %s (%d attempts, in doubt: %t) happened %d times", k.id, s.tool, s.mark, s.begun, s.doubt, n)
		}
	}
	return ends
}
