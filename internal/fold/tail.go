package fold

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// Tail is the part of a log that its fold needs: the end.
type Tail struct {
	// First is the Seq of the first of Events, Last that of the last; where there are none, First is Last plus one.
	First, Last int64
	Events      []*event.Event
	// Session is the number of the session that First belongs to; 0 if unknown.
	Session int
	// Begin is the Seq of that session's first event; 0 if unknown.
	Begin int64
	// State is the conversation's own state, either before Events or after them; nil if First is 1.
	State map[string]json.RawMessage
}

// New folds a whole log.
func New(events []*event.Event) *Conversation {
	return FromTail(&Tail{First: 1, Events: events}, false)
}

// FromTail folds the end of a log. Compactions and redactions apply to earlier events, so FromTail first reads all
// events for them. Summaries of events before the tail come first in the transcript. A traced fold records which
// events its messages come from.
func FromTail(t *Tail, traced bool) *Conversation {
	v := &Conversation{State: newState(t.State), Last: t.Last, SpentKnown: t.First <= 1, Partial: t.First > 1}
	v.Past.Traced = traced
	v.keeping.from = max(t.First-1, 0)
	v.State.dated = t.First <= 1
	begin, session := t.Begin, t.Session
	if t.First > 1 {
		v.Session = t.Session
	} else {
		session = 0
	}
	for _, e := range t.Events {
		v.Hidden.Note(e)
		if b, ok := e.Body.(*event.RunStarted); ok && b.Session > session {
			session, begin = b.Session, e.Seq
		}
	}
	v.Hidden.Settle(begin)
	v.Begin = begin
	if t.First > 1 {
		for i := range v.Hidden.ranges {
			if h := &v.Hidden.ranges[i]; h.Scope == "" && h.From < t.First && !h.shown {
				h.shown = true
				v.Past.summary(h.summary)
			}
		}
	}
	v.anew = true
	for _, e := range t.Events {
		v.Add(e)
	}
	v.Stale, v.anew = false, false
	return v
}
