package fold

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// setup applies a recorded setup.
func (v *Conversation) setup(s *Scope, e *event.Event, b *event.Setup) {
	var next *model.Setup
	if _, redacted := v.Hidden.Redacted[e.Seq]; !redacted {
		next = SetupOf(v.Setups[e.Author], b)
	}
	if next == nil {
		delete(v.Setups, e.Author)
		s.Transcript.Setups = Setups{}
		return
	}
	if v.Setups == nil {
		v.Setups = make(map[string]*model.Setup)
	}
	v.Setups[e.Author] = next
	s.Transcript.Setups.put(*next, s.Transcript.Len(), b.Bytes(), b.Base)
}

// forgetSetups drops the setups of a scope after its transcript changed before its end. Later records do not refer to
// earlier ones, so a log can be read from there on.
func (v *Conversation) forgetSetups(scope string) {
	if scope == "" {
		v.Setups = nil
		v.Past.Setups, v.base.Setups = Setups{}, Setups{}
	}
	if s := v.Run.Scope(scope); s != nil {
		s.Transcript.Setups = Setups{}
	}
}
