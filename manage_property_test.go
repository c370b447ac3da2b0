package braid

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
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
		traced := fold.FromTail(&fold.Tail{First: 1, Events: log}, true)
		plain := fold.New(log)
		if traced.Run == nil || !traced.Open() {
			return nil
		}
		s := traced.Run.Scopes[pick.IntN(len(traced.Run.Scopes))]
		was := plain.Run.Scope(s.ID)
		if fingerprint(s.Transcript.Messages) != fingerprint(was.Transcript.Messages) {
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
		first := traced.Begin + 1
		if s.Depth > 0 {
			first = traced.Run.First
		}
		p, ok := m.Plan(s, first, traced.Hidden.Reach(s.ID), why, easings)
		if !ok {
			continue
		}
		if p.To > 0 && p.To < reach[s.ID] {
			return fmt.Errorf("%+v reaches less far than %d before it: both summaries would stay", p, reach[s.ID])
		}
		reach[s.ID] = max(reach[s.ID], p.To)
		var written []*event.Event
		newest := log[len(log)-1]
		for _, b := range p.Compacted(tool.Text("in short").Content) {
			e := &event.Event{Header: newest.Header, Body: b}
			e.Seq, e.Scope, e.Step, e.Attempt = newest.Seq+int64(len(written))+1, s.ID, "", 0
			written = append(written, e)
		}
		log = append(log, written...)
		if err := checkShortened(traced, log, written); err != nil {
			return fmt.Errorf("after %+v: %w", p, err)
		}
		after := fold.New(log).Run.Scope(s.ID)
		if err := validMessages(after.Transcript.Messages); err != nil {
			return fmt.Errorf("after %+v: %w\n%s", p, err, show(after.Transcript.Messages))
		}
		if len(was.Transcript.Messages) == 0 {
			continue
		}
		// What the model has not answered, and what a person said last, is shown as before.
		shown, last := show(after.Transcript.Messages), was.Transcript.Messages[len(was.Transcript.Messages)-1]
		for _, b := range append(slices.Clone(last.Content), was.Newest.Content...) {
			t, ok := b.(*event.Text)
			if ok && last.Role == event.RoleUser && !strings.Contains(shown, string(mustJSON(t.Text))) && !summarised(s, t) {
				return fmt.Errorf("after %+v %q is not shown any more:\n%s", p, t.Text, shown)
			}
		}
		for _, b := range last.Content {
			r, ok := b.(*event.ToolResult)
			if ok && (why == event.WhyLimit || p.Cut == 0) && !gives(after.Transcript.Messages, r) {
				return fmt.Errorf("after %+v the result of %s, which no model has seen, is not shown:\n%s", p, r.Call, shown)
			}
		}
		for _, c := range event.CallsOf(was.Batch.Asking) {
			if after.CallByID(c.ID) == nil {
				return fmt.Errorf("after %+v the open call %s is gone", p, c.ID)
			}
		}
		if how.Pin != nil && p.To > 0 {
			for _, u := range s.Transcript.Units {
				for _, b := range u.Said {
					t, ok := b.(*event.Text)
					if ok && u.Kind == fold.UnitAnswer && how.Pin(u.Message()) && !strings.Contains(shown, string(mustJSON(t.Text))) {
						return fmt.Errorf("after %+v what is pinned is not shown any more: %q", p, t.Text)
					}
				}
			}
		}
	}
	if seed%4 == 0 {
		if err := decidetest.UnderAll(log, func(n int) bool { return n > len(before) }); err != nil {
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
func checkShortened(v *fold.Conversation, log, news []*event.Event) error {
	for _, e := range news {
		s := v.Run.Scope(e.Scope)
		mayNot := s.Closed != nil || s.Batch.Calls != nil || s.Answer.Pieces != nil // where no driver compacts
		if b, ok := e.Body.(*event.Compacted); ok && !b.Cut {
			mayNot = mayNot || !v.Hidden.Covers(&fold.Range{Scope: e.Scope, From: b.From, To: b.To}) // two summaries stay
		}
		if v.Add(e); v.Stale && mayNot {
			return nil
		}
	}
	if v.Stale {
		return errors.New("a planned compaction was not taken in")
	}
	alike := func() error {
		anew := fold.FromTail(&fold.Tail{First: 1, Events: log}, true)
		for i, s := range anew.Run.Scopes {
			if err := alikeTranscripts(&v.Run.Scopes[i].Transcript, &s.Transcript); err != nil {
				return fmt.Errorf("scope %q: %w", s.ID, err)
			}
		}
		if err := alikeTranscripts(&v.Past, &anew.Past); err != nil {
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
	v.Add(&end)
	log = append(slices.Clone(log), &end)
	if err := alike(); err != nil {
		return fmt.Errorf("when the run has failed: %w", err)
	}
	return nil
}

func alikeTranscripts(got, want *fold.Transcript) error {
	if fingerprint(got.Messages) != fingerprint(want.Messages) {
		return fmt.Errorf("shows\n%s\nand anew\n%s", show(got.Messages), show(want.Messages))
	}
	same := slices.EqualFunc(got.Units, want.Units, func(a, b fold.Unit) bool {
		return a.Kind == b.Kind && slices.Equal(a.Seqs, b.Seqs) && len(a.Said) == len(b.Said) && len(a.Got) == len(b.Got)
	})
	if !same {
		return fmt.Errorf("has the units %+v, and anew %+v", got.Units, want.Units)
	}
	return nil
}

// summarised reports whether a text stands in the transcript for what was left out before, which
// may go.
func summarised(s *fold.Scope, t *event.Text) bool {
	return slices.ContainsFunc(s.Transcript.Units, func(u fold.Unit) bool { return u.Kind == fold.UnitSummary && event.TextOf(u.Said) == t.Text })
}

// checkUnits: the units of a transcript make up its messages, and stand in the order of the log.
func checkUnits(s *fold.Scope) error {
	n, last := 0, int64(0)
	for _, u := range s.Transcript.Units {
		n += len(u.Said) + len(u.Got)
		if len(u.Seqs) > 0 {
			if u.Seqs[0] <= last {
				return fmt.Errorf("unit %v comes before event %d", u.Seqs, last)
			}
			last = u.Seqs[len(u.Seqs)-1]
		}
	}
	blocks := 0
	for _, m := range s.Transcript.Messages {
		blocks += len(m.Content)
		if m.Role == event.RoleUser && len(m.Content) == 1 && m.Content[0] == fold.Beginning[0] {
			blocks--
		}
	}
	if n != blocks {
		return fmt.Errorf("the units have %d blocks, the transcript %d:\n%s", n, blocks, show(s.Transcript.Messages))
	}
	return nil
}
