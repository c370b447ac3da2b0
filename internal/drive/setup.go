package drive

import (
	"slices"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// setUp puts into a request the setups under which its messages were answered. It records the request's own setup if
// that is new. It is called before the call's own event.
func (d *activeRun) setUp(s *fold.Scope, cycle int, req *model.Request) {
	now, last := &model.Setup{Instructions: req.Instructions, Tools: req.Tools}, s.Transcript.Setups.Last()
	if last == nil || !fold.SameSetup(last, now) {
		var b *event.Setup
		switch {
		case d.recordable(now):
			b = fold.RecordSetup(d.view.Setups[s.Agent], now)
			b.Base = s.Transcript.Setups.Full(b.Bytes())
		case last != nil:
			b = &event.Setup{Hidden: true}
		default:
			return
		}
		d.addAt(s, cycle, "", 0, b)
		d.pending.events[len(d.pending.events)-1].Audience = event.Operator
	}
	if len(s.Transcript.Setups.List) > 1 {
		req.Setups = slices.Clip(s.Transcript.Setups.List)
	}
}

// recordable reports whether the log may keep a setup: it is text, not too large, and has no secret of the run.
func (d *activeRun) recordable(s *model.Setup) bool {
	n := 0
	clean := func(text string) bool {
		n += len(text)
		return n <= fold.MaxSetup && utf8.ValidString(text) && d.cfg.mask.Hide(text) == text
	}
	return clean(s.Instructions) && !slices.ContainsFunc(s.Tools, func(t model.ToolSpec) bool {
		return !clean(t.Name) || !clean(t.Description) || !clean(string(t.Schema))
	})
}

// asIs is the part of a request that a setup depends on and a hook could change.
type asIs struct {
	instructions string
	messages     []event.Message
	tools        []model.ToolSpec
}

func requestAsIs(r *model.Request) asIs { return asIs{r.Instructions, r.Messages, r.Tools} }

// kept reports whether a request is unchanged. What a hook shows to a model is not in the log.
func (a asIs) kept(r *model.Request) bool {
	return a.instructions == r.Instructions &&
		slices.EqualFunc(a.tools, r.Tools, func(a, b model.ToolSpec) bool { return fold.SameSpec(&a, &b) }) &&
		slices.EqualFunc(a.messages, r.Messages, func(a, b event.Message) bool {
			return a.Role == b.Role && slices.Equal(a.Content, b.Content)
		})
}
