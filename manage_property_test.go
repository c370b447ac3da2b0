package braid

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// checkPlanned plans compactions on a log of random runs, cut at a random place, one after another,
// and holds what the model is shown then against what it was shown before.
func checkPlanned(log []*event.Event, seed uint64) error {
	pick := rand.New(rand.NewPCG(seed, 7))
	log = slices.Clone(log[:1+pick.IntN(len(log))])
	before := make([]string, len(log))
	for i := range log {
		before[i] = showLog(log[i : i+1])
	}
	reach := map[string]int64{}
	for range 1 + pick.IntN(4) {
		traced := newTailView(&foldedTail{First: 1, Events: log}, true)
		plain := newView(log)
		if traced.run == nil || !traced.open() {
			return nil
		}
		s := traced.run.scopes[pick.IntN(len(traced.run.scopes))]
		was := plain.run.scope(s.id)
		if fingerprint(s.talk.msgs) != fingerprint(was.talk.msgs) {
			return errors.New("tracing changes what is shown")
		}
		if err := checkUnits(s); err != nil {
			return err
		}
		how := Management{By: []Strategy{SlidingWindow(pick.IntN(6)), Summarize{Recent: pick.IntN(4) - 1}}[pick.IntN(2)]}
		if pick.IntN(3) == 0 {
			how.Pin = func(m event.Message) bool { return strings.Contains(m.Text(), "a") }
		}
		m, err := how.managing()
		if err != nil {
			return err
		}
		why, easings := event.WhyLimit, 0
		if pick.IntN(2) == 0 {
			why, easings = event.WhyOverflow, pick.IntN(3)
		}
		first := traced.begin + 1
		if s.depth > 0 {
			first = traced.run.first
		}
		p, ok := m.plan(s, first, traced.hide.reach(s.id), why, easings)
		if !ok {
			continue
		}
		if p.to > 0 && p.to < reach[s.id] {
			return fmt.Errorf("%+v reaches less far than %d before it: both summaries would stay", p, reach[s.id])
		}
		reach[s.id] = max(reach[s.id], p.to)
		d := &driver{view: newView(log), agent: &Agent{}}
		d.row.ID = log[len(log)-1].Run
		d.writeCompaction(d.view.run.scope(s.id), 1, "", 0, &p, TextOutput("in short").Content)
		log = append(log, d.events...)
		if err := checkShortened(traced, log, d.events); err != nil {
			return fmt.Errorf("after %+v: %w", p, err)
		}
		after := newView(log).run.scope(s.id)
		if err := validMessages(after.talk.msgs); err != nil {
			return fmt.Errorf("after %+v: %w\n%s", p, err, show(after.talk.msgs))
		}
		if len(was.talk.msgs) == 0 {
			continue
		}
		// What the model has not answered, and what a person said last, is shown as before.
		shown, last := show(after.talk.msgs), was.talk.msgs[len(was.talk.msgs)-1]
		for _, b := range append(slices.Clone(last.Content), was.newest.content...) {
			t, ok := b.(*event.Text)
			if ok && last.Role == event.RoleUser && !strings.Contains(shown, string(mustJSON(t.Text))) && !summarised(s, t) {
				return fmt.Errorf("after %+v %q is not shown any more:\n%s", p, t.Text, shown)
			}
		}
		for _, b := range last.Content {
			r, ok := b.(*event.ToolResult)
			if ok && (why == event.WhyLimit || p.cut == 0) && !gives(after.talk.msgs, r) {
				return fmt.Errorf("after %+v the result of %s, which no model has seen, is not shown:\n%s", p, r.Call, shown)
			}
		}
		for _, c := range event.CallsOf(was.asking) {
			if after.callByID(c.ID) == nil {
				return fmt.Errorf("after %+v the open call %s is gone", p, c.ID)
			}
		}
		if how.Pin != nil && p.to > 0 {
			for _, u := range s.talk.units {
				for _, b := range u.said {
					t, ok := b.(*event.Text)
					if ok && u.kind == unitAnswer && how.Pin(u.message()) && !strings.Contains(shown, string(mustJSON(t.Text))) {
						return fmt.Errorf("after %+v what is pinned is not shown any more: %q", p, t.Text)
					}
				}
			}
		}
	}
	if seed%4 == 0 {
		if err := underAll(log, func(n int) bool { return n > len(before) }); err != nil {
			return err
		}
	}
	for i := range before {
		if before[i] != showLog(log[i:i+1]) {
			return fmt.Errorf("event %d has changed", i+1)
		}
	}
	return nil
}

// gives reports whether the last message has the result as it is.
func gives(msgs []event.Message, r *event.ToolResult) bool {
	return len(msgs) > 0 && slices.ContainsFunc(msgs[len(msgs)-1].Content, func(b event.Block) bool {
		other, ok := b.(*event.ToolResult)
		return ok && other.Call == r.Call && event.TextOf(other.Content) == event.TextOf(r.Content)
	})
}

// checkShortened holds a view that has taken compactions in against one that is folded anew, also
// when the run has failed after that.
func checkShortened(v *view, log, news []*event.Event) error {
	for _, e := range news {
		s := v.run.scope(e.Scope)
		mayNot := s.closed != nil || s.batch != nil || s.pieces != nil // where no driver compacts
		if b, ok := e.Body.(*event.Compacted); ok && !b.Cut {
			mayNot = mayNot || !v.hide.covers(&compactedRange{scope: e.Scope, from: b.From, to: b.To}) // two summaries stay
		}
		if v.fold(e); v.stale && mayNot {
			return nil
		}
	}
	if v.stale {
		return errors.New("a planned compaction was not taken in")
	}
	alike := func() error {
		anew := newTailView(&foldedTail{First: 1, Events: log}, true)
		for i, s := range anew.run.scopes {
			if err := alikeTranscripts(&v.run.scopes[i].talk, &s.talk); err != nil {
				return fmt.Errorf("scope %q: %w", s.id, err)
			}
		}
		if err := alikeTranscripts(&v.past, &anew.past); err != nil {
			return fmt.Errorf("the runs before: %w", err)
		}
		return nil
	}
	if err := alike(); err != nil {
		return err
	}
	end := *log[len(log)-1]
	end.Seq++
	end.Scope, end.Body = "", &event.RunEnded{Status: event.RunFailed, Why: event.WhyFailed}
	v.fold(&end)
	log = append(slices.Clone(log), &end)
	if err := alike(); err != nil {
		return fmt.Errorf("when the run has failed: %w", err)
	}
	return nil
}

func alikeTranscripts(got, want *transcript) error {
	if fingerprint(got.msgs) != fingerprint(want.msgs) {
		return fmt.Errorf("shows\n%s\nand anew\n%s", show(got.msgs), show(want.msgs))
	}
	same := slices.EqualFunc(got.units, want.units, func(a, b unit) bool {
		return a.kind == b.kind && slices.Equal(a.seqs, b.seqs) && len(a.said) == len(b.said) && len(a.got) == len(b.got)
	})
	if !same {
		return fmt.Errorf("has the units %+v, and anew %+v", got.units, want.units)
	}
	return nil
}

// summarised reports whether a text stands in the transcript for what was left out before, which
// may go.
func summarised(s *scope, t *event.Text) bool {
	return slices.ContainsFunc(s.talk.units, func(u unit) bool { return u.kind == unitSummary && event.TextOf(u.said) == t.Text })
}

// checkUnits: the units of a transcript make up its messages, and stand in the order of the log.
func checkUnits(s *scope) error {
	n, last := 0, int64(0)
	for _, u := range s.talk.units {
		n += len(u.said) + len(u.got)
		if len(u.seqs) > 0 {
			if u.seqs[0] <= last {
				return fmt.Errorf("unit %v comes before event %d", u.seqs, last)
			}
			last = u.seqs[len(u.seqs)-1]
		}
	}
	blocks := 0
	for _, m := range s.talk.msgs {
		blocks += len(m.Content)
		if m.Role == event.RoleUser && len(m.Content) == 1 && m.Content[0] == beginning[0] {
			blocks--
		}
	}
	if n != blocks {
		return fmt.Errorf("the units have %d blocks, the transcript %d:\n%s", n, blocks, show(s.talk.msgs))
	}
	return nil
}
