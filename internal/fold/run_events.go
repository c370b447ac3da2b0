package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

func (v *Conversation) startRun(e *event.Event, b *event.RunStarted) {
	if v.Open() {
		// The previous run never ended: its driver is gone, and another run began.
		v.endRun(e.Seq, &event.RunEnded{Status: event.RunCancelled, Why: event.WhyCancelled}, false)
	}
	if b.Session > v.Session {
		v.Session = b.Session
		v.Past = Transcript{Traced: v.Past.Traced}
		v.gauge, v.Begin, v.Found, v.Setups = gauge{}, e.Seq, nil, nil
	}
	old := v.continued(b)
	if old == nil {
		v.base, v.baseGauge = v.Past, v.gauge
	} else {
		v.Past, v.gauge = v.base, v.baseGauge
		v.Past.rewind()
	}
	if b.Spent != nil {
		v.Spent, v.SpentKnown = *b.Spent, true
	}
	v.Turn = max(v.Turn, b.Turn)
	v.State.newRun()
	if b.Found != nil {
		v.Found = slices.Clip(b.Found)
	}
	root := &Scope{
		Agent: b.Agent, Place: ScopePlace{Began: e.Time}, Transcript: v.Past.branch(), gauge: v.gauge,
		Tools: ScopeTools{Names: b.Tools, Found: v.Found},
	}
	if n := len(root.Transcript.Messages); n > 0 && root.Transcript.Messages[n-1].Role == event.RoleUser {
		root.Fresh = event.WhyInput
	}
	v.Run = &Run{
		ID: e.Run, Agent: b.Agent, Labels: b.Metadata, Started: e.Time, At: e.Time, First: e.Seq, Scopes: []*Scope{root}, working: []*Scope{root},
	}
	if old != nil {
		v.Run.takeOver(old)
	}
}

// endRun ends the newest run and updates the transcript for the next one. A completed run leaves all its messages, a
// run that was cut short its complete messages. A failed run whose end does not set Keep leaves only a note about its
// tools' effects.
//
// hidden reports whether a summary replaces the event and the notes on it.
func (v *Conversation) endRun(seq int64, b *event.RunEnded, hidden bool) {
	r := v.Run
	r.Ended = b
	root := r.Scopes[0]
	v.Spent = v.Spent.Add(root.Totals.Spent)
	v.Spent.Active += r.Active
	if b.Status == event.RunFailed && b.Keep {
		root.closeBatch()
		v.Past, v.gauge = root.Transcript, root.gauge
		if root.Newest.Seq > 0 && !hidden {
			v.Past.note(failedNote, seq)
		}
		if r.left != nil && len(r.left.doubts) > 0 {
			v.Past.note(doubtNote(r.left.doubts, "failed"), seq)
		}
		return
	}
	if b.Status == event.RunFailed {
		v.Past.rewind()
		for i := range v.Hidden.ranges {
			if h := &v.Hidden.ranges[i]; h.shown && h.From >= r.First && h.Scope == "" {
				v.Past.summary(h.summary)
			}
		}
		if note := failureNote(r); note != "" {
			v.Past.note(note, seq)
		}
		return
	}
	root.closeBatch()
	v.Past, v.gauge = root.Transcript, root.gauge
	switch {
	case hidden:
	case b.Why == event.WhyCancelled:
		v.interrupted(root, b, seq)
	case b.Why == event.WhyDeadline:
		v.outOfTime(b, seq)
	}
	if b.Status == event.RunCancelled && r.left != nil && len(r.left.doubts) > 0 {
		// The calls' own agents were stopped before they saw the outcome.
		v.Past.note(doubtNote(r.left.doubts, "was cancelled"), seq)
	}
}
