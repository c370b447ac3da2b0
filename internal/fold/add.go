package fold

import "github.com/braidrun/braid/event"

// Add advances the fold by one event. It ignores events that do not fit, such as a result without a call or an event
// of an unknown scope: a log that another version wrote must still open.
func (v *Conversation) Add(e *event.Event) {
	if e.Seq > v.Last {
		v.Last = e.Seq
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		v.startRun(e, b)
		return
	case *event.StateChanged:
		v.State.apply(e.Seq, b)
		if v.Run != nil {
			v.Run.change(b)
			v.Run.Scope(e.Scope).changes(b)
		}
		return
	case *event.Compacted:
		v.Stale = v.Stale || !v.shorten(e, b) || v.Run.Scope(e.Scope).handed()
		v.compacted(e)
		return
	case *event.Redacted:
		v.redact(e, b)
		return
	}
	r := v.Run
	if r == nil {
		return
	}
	r.tick(e)
	if len(v.Hidden.ranges) > 0 {
		if s := r.Scope(e.Scope); s != nil {
			v.Hidden.summaries(e, s.Transcript.summary)
		}
	}
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		r.open(e, b, v)
		return
	case *event.RunEnded:
		hidden := v.Hidden.has(e)
		if hidden {
			r.Effects, r.left = nil, nil // the summary covers them
		}
		v.endRun(e.Seq, b, hidden)
		return
	case *event.Answered:
		r.answer(b)
		return
	case *event.ArtifactSaved:
		r.leave().saved = append(r.leave().saved, b.Name)
		return
	}
	s := r.Scope(e.Scope)
	if s == nil {
		return
	}
	switch b := e.Body.(type) {
	case *event.UserMessage:
		v.user(s, e, b)
	case *event.AssistantMessage:
		r.assistant(s, e, b, v)
	case *event.StepBegun:
		r.begin(s, e, b)
	case *event.StepEnded:
		r.end(s, e, b, v)
	case *event.Setup:
		v.setup(s, e, b)
	case *event.Asked:
		r.ask(s, e, b)
	case *event.ScopeClosed:
		if c := r.Scope(b.ID); c != nil {
			c.end(v.closed(e, b))
			c.leaves(e.Time)
			r.drop(c)
		}
	case *event.Transferred:
		s.transfer(e, b, v.base.Len())
	case *event.Decided:
		s.flow().decide(b, v.Hidden.Redacted[e.Seq] != nil)
	case *event.Escalated:
		s.escalate()
	}
}
