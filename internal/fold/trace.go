package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
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

// retell appends the messages of units. room is the expected number of units.
func (t *Transcript) retell(units []Unit, room int) {
	t.Messages = slices.Grow(t.Messages, 2*room-len(t.Messages))
	for i := range units {
		u := &units[i]
		switch u.Kind {
		case UnitAnswer:
			t.assistant(u.Said)
		case UnitPair:
			t.pair(u.Said, u.Got)
		default:
			t.user(u.Said)
		}
	}
}
