package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Transcript is what the model sees of a scope. Its messages alternate between user and assistant, begin with user,
// and pair every call with its result. Messages that were returned never change, so requests share them instead of
// copying them.
type Transcript struct {
	// Messages are the messages in memory, which are all unless [Transcript.Whole] denies it. The last message always is.
	Messages []event.Message
	// older are those before Messages.
	older older
	// kept is what a stored fold has of the transcript; nil for nothing.
	kept *kept
	// Units record which events the messages of a traced transcript come from.
	Units  []Unit
	Traced bool
	// Setups are the setups under which its answers were given.
	Setups Setups
}

// branch returns a transcript that begins with this one and grows on its own.
func (t *Transcript) branch() Transcript {
	// The capacity is kept on purpose: Past and the open run's root grow one
	// after the other, never both (rewind cuts the capacity).
	return *t
}

// rewind drops the spare capacity that a failed run may have written to. A straggler may still read that memory.
func (t *Transcript) rewind() {
	t.Messages, t.Units = slices.Clip(t.Messages), slices.Clip(t.Units)
}

// user appends a user's message. It merges consecutive user messages, because providers refuse two in a row.
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

// assistant appends an answer without calls. It skips an empty answer, because providers refuse one.
func (t *Transcript) assistant(content []event.Block) {
	if len(content) == 0 {
		return
	}
	if HasVendorBlocks(content) {
		content = withoutLoose(t.older.served(), t.Messages, content)
	}
	n := len(t.Messages)
	switch {
	case n == 0:
		// Providers refuse a transcript that begins with an answer, for example because its question was compacted.
		t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: Beginning})
	case t.Messages[n-1].Role == event.RoleAssistant:
		t.replaceLast(joinBlocks(t.Messages[n-1].Content, content))
		return
	}
	t.Messages = append(t.Messages, event.Message{Role: event.RoleAssistant, Content: content})
}

// pair appends an answer with calls together with its results.
func (t *Transcript) pair(answer, results []event.Block) {
	t.assistant(answer)
	t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: results})
}

// replaceLast replaces the last message. It copies the slice, because others may read its array.
func (t *Transcript) replaceLast(content []event.Block) {
	n := len(t.Messages) - 1
	t.unkeep(t.older.messages + n)
	role := t.Messages[n].Role
	t.Messages = append(t.Messages[:n:n], event.Message{Role: role, Content: content})
}

// Shared returns the messages in memory for a request, without spare capacity: appending to them copies them.
func (t *Transcript) Shared() []event.Message {
	return slices.Clip(t.Messages)
}

// swap replaces the blocks own, which must be consecutive in one user message, with other. It does not change messages
// that were returned before. It reports whether it found own.
func (t *Transcript) swap(own, other []event.Block) bool {
	for i, m := range slices.Backward(t.Messages) {
		at := slices.Index(m.Content, own[0])
		if at < 0 || m.Role != event.RoleUser || len(m.Content) < at+len(own) || !slices.Equal(m.Content[at:at+len(own)], own) {
			continue
		}
		t.unkeep(t.older.messages + i)
		t.Messages = slices.Clone(t.Messages)
		t.Messages[i].Content = joinBlocks(joinBlocks(m.Content[:at], other), m.Content[at+len(own):])
		t.swapUnit(own, other)
		return true
	}
	return false
}

// Alternate returns the messages of a request: they begin with user and alternate between user and assistant. It returns
// messages itself if they do. Calls and results must be paired.
func Alternate(messages []event.Message) []event.Message {
	alternates := true
	for i, m := range messages {
		alternates = alternates && len(m.Content) > 0 && (m.Role == event.RoleUser) == (i%2 == 0)
	}
	if alternates {
		return messages
	}
	t := Transcript{}
	for _, m := range messages {
		if m.Role == event.RoleAssistant {
			t.assistant(m.Content)
		} else {
			t.user(m.Content)
		}
	}
	return t.Messages
}

// swapUnit replaces the content of a unit.
func (t *Transcript) swapUnit(own, other []event.Block) {
	for i, u := range slices.Backward(t.Units) {
		if u.Kind != UnitPair && slices.Equal(u.Said, own) {
			t.Units = slices.Clone(t.Units)
			t.Units[i].Said = other
			return
		}
	}
}
