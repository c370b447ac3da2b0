package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Transcript is what the model sees of a scope: messages that alternate
// between user and assistant, begin with user, and pair every call with its
// result. It only ever grows at its end, and what has been handed out is never
// changed, so that requests share it instead of copying it.
type Transcript struct {
	Messages []event.Message
	// Units say where the messages of a traced transcript come from.
	Units  []Unit
	Traced bool
	// Setups are what its answers were given under.
	Setups Setups
}

// branch gives a transcript that begins with this one and grows by itself:
// appending to it never writes into memory that this one shares.
func (t *Transcript) branch() Transcript {
	// The capacity is kept on purpose: Past and the open run's root grow one
	// after the other, never both (rewind cuts the capacity).
	return Transcript{Messages: t.Messages, Units: t.Units, Traced: t.Traced, Setups: t.Setups}
}

// rewind forgets what a failed run appended behind t: the capacity goes too,
// because a straggler may still read what lies there.
func (t *Transcript) rewind() {
	t.Messages, t.Units = slices.Clip(t.Messages), slices.Clip(t.Units)
}

// user appends a user's message. Two user turns in a row become one, because
// providers refuse them apart.
func (t *Transcript) user(content []event.Block) {
	if len(content) == 0 {
		return
	}
	if n := len(t.Messages); n > 0 && t.Messages[n-1].Role == event.RoleUser {
		t.replaceLast(joinBlocks(t.Messages[n-1].Content, content))
		return
	} else if n > 0 {
		// The turn is not continued.
		if last := t.Messages[n-1].Content; HasVendorBlocks(last) {
			t.replaceLast(CloseOpenCalls(last, "was not finished"))
		}
	}
	t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: content})
}

// assistant appends an answer without calls. An empty one is left out: no
// provider takes it back.
func (t *Transcript) assistant(content []event.Block) {
	if len(content) == 0 {
		return
	}
	if HasVendorBlocks(content) {
		content = t.withoutLoose(content)
	}
	n := len(t.Messages)
	switch {
	case n == 0:
		// A transcript that begins with an answer (its question was compacted
		// or failed) is refused by providers.
		t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: beginning})
	case t.Messages[n-1].Role == event.RoleAssistant:
		t.replaceLast(joinBlocks(t.Messages[n-1].Content, content))
		return
	}
	t.Messages = append(t.Messages, event.Message{Role: event.RoleAssistant, Content: content})
}

// pair appends an answer with calls and its results, together.
func (t *Transcript) pair(answer, results []event.Block) {
	t.assistant(answer)
	t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: results})
}

// replaceLast puts another last message in place of the last one without
// touching the array that others may read.
func (t *Transcript) replaceLast(content []event.Block) {
	n := len(t.Messages) - 1
	role := t.Messages[n].Role
	t.Messages = append(t.Messages[:n:n], event.Message{Role: role, Content: content})
}

// Shared is the transcript as a request sees it: nobody can append to it.
func (t *Transcript) Shared() []event.Message {
	return slices.Clip(t.Messages)
}

// swap puts other content in place of what was appended as own, as long as it stands
// there alone and in a row. What was handed out before stays as it is. It
// reports whether it was found.
func (t *Transcript) swap(own, other []event.Block) bool {
	for i, m := range slices.Backward(t.Messages) {
		at := slices.Index(m.Content, own[0])
		if at < 0 || m.Role != event.RoleUser || len(m.Content) < at+len(own) || !slices.Equal(m.Content[at:at+len(own)], own) {
			continue
		}
		t.Messages = slices.Clone(t.Messages)
		t.Messages[i].Content = joinBlocks(joinBlocks(m.Content[:at], other), m.Content[at+len(own):])
		t.swapUnit(own, other)
		return true
	}
	return false
}

// beginning is what the model is shown in the user's name where what is left of a conversation begins with its own answer.
var beginning = []event.Block{&event.Text{Text: "[The conversation goes on from here.]"}}

func joinBlocks(a, b []event.Block) []event.Block {
	joined := make([]event.Block, 0, len(a)+len(b))
	return append(append(joined, a...), b...)
}
