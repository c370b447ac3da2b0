package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Unit is the smallest part of a transcript that a compaction can leave out: a user's message, an answer, or an answer
// with calls and their results. Only a traced fold has units.
type Unit struct {
	Kind UnitKind
	// Said is what the user or the model wrote.
	Said []event.Block
	// Got are the results of the calls in Said.
	Got []event.Block
	// Seqs are the events that the unit comes from.
	Seqs []int64
	// Opens reports whether the unit is input of a run. Messages that were sent during a run do not open a turn, and
	// neither do those of hooks and of the loop itself.
	Opens bool
	// paused reports whether the next answer continues this one.
	paused bool
}

// UnitKind is the kind of a unit.
type UnitKind uint8

// The kinds of units.
const (
	UnitUser UnitKind = iota
	UnitAnswer
	UnitPair
	// UnitNote is a note of the loop about an earlier run.
	UnitNote
	// UnitInput is the input of a sub-agent. Its event belongs to the parent's scope, so no compaction leaves it out.
	UnitInput
	// UnitSummary is the summary of an earlier compaction.
	UnitSummary
)

// trace records the event that the last appended content comes from.
func (t *Transcript) trace(kind UnitKind, said []event.Block, seq int64) {
	if !t.Traced || len(said) == 0 {
		return
	}
	u := Unit{Kind: kind, Said: said}
	if seq > 0 {
		u.Seqs = []int64{seq}
	}
	t.Units = append(t.Units, u)
}

// traceUser is trace for a user's message. opens reports whether it is input of a run.
func (t *Transcript) traceUser(content []event.Block, seq int64, opens bool) {
	if t.trace(UnitUser, content, seq); t.Traced && len(content) > 0 {
		t.Units[len(t.Units)-1].Opens = opens
	}
}

// tracePair records the events that an answer with calls and its results come from.
func (s *Scope) tracePair(results []event.Block) {
	u := Unit{Kind: UnitPair, Said: s.Batch.Asking, Got: results, Seqs: []int64{s.Batch.askedAt}}
	for _, c := range s.Batch.Calls {
		if c.ended > 0 {
			u.Seqs = append(u.Seqs, c.ended)
		}
	}
	slices.Sort(u.Seqs)
	u.Seqs = slices.Compact(u.Seqs)
	s.Transcript.Units = append(s.Transcript.Units, u)
	s.Transcript.goesOn()
}

// traceAnswer is trace for an answer without calls. paused reports whether the provider will continue it.
func (t *Transcript) traceAnswer(content []event.Block, seq int64, paused bool) {
	if t.trace(UnitAnswer, content, seq); t.Traced && len(content) > 0 {
		t.goesOn()
		t.Units[len(t.Units)-1].paused = paused
	}
}

// goesOn merges the last two units if the first is a paused answer: a compaction must not leave out only one of them.
func (t *Transcript) goesOn() {
	n := len(t.Units)
	if n < 2 || !t.Units[n-2].paused {
		return
	}
	first, rest := t.Units[n-2], t.Units[n-1]
	rest.Said, rest.Seqs = joinBlocks(first.Said, rest.Said), slices.Concat(first.Seqs, rest.Seqs)
	t.Units = append(t.Units[:n-2:n-2], rest)
}

// summary appends the summary of a compaction.
func (t *Transcript) summary(content []event.Block) {
	t.user(content)
	t.trace(UnitSummary, content, 0)
}

// note appends a note of the loop about the run that ended with the event seq.
func (t *Transcript) note(text string, seq int64) {
	content := []event.Block{&event.Text{Text: text}}
	t.user(content)
	t.trace(UnitNote, content, seq)
}

// pairPartial appends the part of an answer that the event seq holds, with the note that follows it. The two are one unit.
func (t *Transcript) pairPartial(text, note string, seq int64) {
	u := Unit{
		Kind: UnitPair, Seqs: []int64{seq},
		Said: []event.Block{&event.Text{Text: text}}, Got: []event.Block{&event.Text{Text: note}},
	}
	t.pair(u.Said, u.Got)
	if t.Traced {
		t.Units = append(t.Units, u)
		t.goesOn()
	}
}

// Messages returns the number of messages in the unit.
func (u *Unit) Messages() int {
	if u.Kind == UnitPair {
		return 2
	}
	return 1
}

// Message returns the unit as a message, without the results of calls.
func (u *Unit) Message() event.Message {
	if u.Kind == UnitAnswer || u.Kind == UnitPair {
		return event.Message{Role: event.RoleAssistant, Content: u.Said}
	}
	return event.Message{Role: event.RoleUser, Content: u.Said}
}

// Tokens estimates the size of the unit.
func (u *Unit) Tokens() int64 { return model.BlocksTokens(u.Said) + model.BlocksTokens(u.Got) }

// CutTokens estimates the size of the unit when its tool results are cut.
func (u *Unit) CutTokens() int64 {
	n := model.BlocksTokens(u.Said)
	for _, b := range u.Got {
		if r, ok := b.(*event.ToolResult); ok {
			n += model.BlocksTokens([]event.Block{cutResult(r)})
		}
	}
	return n
}
