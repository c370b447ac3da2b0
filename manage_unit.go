package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// unit is the smallest stretch of a transcript that can be left out by itself: what a person
// said, an answer, or an answer with calls and their results. Only a view that is folded in
// order to plan a compaction knows its units.
type unit struct {
	kind unitKind
	// said is what the person or the model said, got the results of its calls.
	said []event.Block
	got  []event.Block
	// seqs are the events that it comes from.
	seqs []int64
	// paused says of an answer that the next one goes on with it.
	paused bool
}

type unitKind uint8

const (
	unitUser unitKind = iota
	unitAnswer
	unitPair
	// unitNote is what the loop itself tells of an earlier run.
	unitNote
	// unitInput is what an agent that is used as a tool was called with: no event of its
	// own scope, so that nothing leaves it out.
	unitInput
	// unitSummary stands for what was left out before.
	unitSummary
)

// trace notes where what was just appended comes from.
func (t *transcript) trace(kind unitKind, said []event.Block, seq int64) {
	if !t.traced || len(said) == 0 {
		return
	}
	u := unit{kind: kind, said: said}
	if seq > 0 {
		u.seqs = []int64{seq}
	}
	t.units = append(t.units, u)
}

// tracePair notes where an answer with calls and its results come from.
func (s *scope) tracePair(results []event.Block) {
	u := unit{kind: unitPair, said: s.asking, got: results, seqs: []int64{s.askedAt}}
	for _, c := range s.batch {
		if c.ended > 0 {
			u.seqs = append(u.seqs, c.ended)
		}
	}
	slices.Sort(u.seqs)
	u.seqs = slices.Compact(u.seqs)
	s.talk.units = append(s.talk.units, u)
	s.talk.goesOn()
}

// traceAnswer is trace for an answer without calls. paused says that its provider goes on with it.
func (t *transcript) traceAnswer(content []event.Block, seq int64, paused bool) {
	if t.trace(unitAnswer, content, seq); t.traced && len(content) > 0 {
		t.goesOn()
		t.units[len(t.units)-1].paused = paused
	}
}

// goesOn makes one unit of the last two if the first is an answer that was paused: nothing may leave
// out one without the other.
func (t *transcript) goesOn() {
	n := len(t.units)
	if n < 2 || !t.units[n-2].paused {
		return
	}
	first, rest := t.units[n-2], t.units[n-1]
	rest.said, rest.seqs = joinBlocks(first.said, rest.said), slices.Concat(first.seqs, rest.seqs)
	t.units = append(t.units[:n-2:n-2], rest)
}

// summary appends what stands for a stretch that was left out.
func (t *transcript) summary(content []event.Block) {
	t.user(content)
	t.trace(unitSummary, content, 0)
}

// note appends what the loop tells the model of the run that ended with the event seq.
func (t *transcript) note(text string, seq int64) {
	content := []event.Block{&event.Text{Text: text}}
	t.user(content)
	t.trace(unitNote, content, seq)
}

// messages is how many messages the unit is.
func (u *unit) messages() int {
	if u.kind == unitPair {
		return 2
	}
	return 1
}

// message is the unit as one who looks for words in it sees it.
func (u *unit) message() event.Message {
	if u.kind == unitAnswer || u.kind == unitPair {
		return event.Message{Role: event.RoleAssistant, Content: u.said}
	}
	return event.Message{Role: event.RoleUser, Content: u.said}
}

func (u *unit) tokens() int64 { return model.BlocksTokens(u.said) + model.BlocksTokens(u.got) }

// cutTokens is what is left of the unit where what tools gave is cut.
func (u *unit) cutTokens() int64 {
	n := model.BlocksTokens(u.said)
	for _, b := range u.got {
		if r, ok := b.(*event.ToolResult); ok {
			n += model.BlocksTokens([]event.Block{cutResult(r)})
		}
	}
	return n
}
