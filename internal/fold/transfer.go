package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Returns reports whether the agent that has the scope gives it back when it has answered, and to whom.
func (s *Scope) Returns() (to string, ok bool) {
	h := s.Handover
	if h == nil || h.Last == nil || h.Last.Policy != event.TransferOnce || h.Last.To != s.Agent || h.Last.From == "" {
		return "", false
	}
	return h.Last.From, true
}

// Sticks returns the agent that has the root scope and keeps it in the next run; empty for the run's own agent.
func (r *Run) Sticks(always bool) string {
	root := r.Scopes[0]
	if root.Agent == r.Agent {
		return ""
	}
	if h := root.Handover; !always && h != nil && h.Last != nil && h.Last.Policy != "" {
		return ""
	}
	return root.Agent
}

// handed reports whether the scope was handed over: then the places of its messages count.
func (s *Scope) handed() bool { return s != nil && s.Handover != nil }

// transfer hands a scope over, at once or when its open calls have results. past counts the messages of earlier runs.
func (s *Scope) transfer(e *event.Event, b *event.Transferred, past int) {
	if s.Handover == nil {
		s.Handover = &Handover{}
		if s.Depth == 0 {
			s.Handover.At = past
		}
	}
	if e.Step != "" {
		s.Handover.Count++
	}
	s.Handover.next = b
	s.takesOver()
}

// takesOver lets a transfer hold that has waited, if no call is open.
func (s *Scope) takesOver() {
	h := s.Handover
	if h == nil || h.next == nil || s.Batch.Calls != nil {
		return
	}
	n := s.Transcript.Len()
	h.spans = append(h.spans, span{h.At, s.Agent})
	h.Last, h.next, h.At = h.next, nil, n
	s.Agent, s.LastModel = h.Last.To, ""
}

// Messages returns what the scope's model sees, as the newest transfer says. All messages must be in memory.
func (s *Scope) Messages() []event.Message {
	h := s.Handover
	if h == nil || h.Last == nil || h.At > len(s.Transcript.Messages) {
		return s.Transcript.Shared()
	}
	switch h.Last.Sees {
	case event.TransferBrief:
		brief := slices.Clone(s.Newest.Content)
		if h.Last.Brief != "" {
			brief = append(brief, &event.Text{Text: "[" + h.Last.From + "] hands over to you: " + h.Last.Brief})
		}
		if len(brief) == 0 {
			return s.Transcript.Shared()
		}
		list := []event.Message{{Role: event.RoleUser, Content: brief}}
		return Alternate(append(list, s.Transcript.Messages[h.At:]...))
	case event.TransferContext:
		return h.reframed(s.Transcript.Shared(), s.Agent)
	default:
		return s.Transcript.Shared()
	}
}
