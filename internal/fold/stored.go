package fold

import (
	"cmp"

	"github.com/braidrun/braid/event"
)

// A stored fold is a cache of a conversation's fold at the end of a run. Opening the conversation then folds only the events
// after it. It has a head, which is read at once, and parts with the older messages of the transcript, which are read when
// a model is to see them. Whoever doubts it folds the log.
//
// Only a run that nothing can continue is stored, so a stored fold has no scopes, calls or questions.

// StoredVersion is the version of stored folds. Raise it with each change of their form, and with each change of this
// package that makes another transcript of the same log: the stored folds of other versions are then not used.
const StoredVersion = 1

// How much of the log is folded at an opening before it is worth storing a fold: so many events, or so many bytes of
// messages. Each message is stored once, so storing costs about as much as writing it to the log did.
const (
	storedEvents = 64
	storedBytes  = 128 << 10
)

// MostStored bounds the messages of a stored fold, in bytes. A longer conversation is folded from its log.
const MostStored = 64 << 20

// mostServed bounds the calls that a head names.
const mostServed = 1000

// Stored is a stored fold that is to be written.
type Stored struct {
	// Seq is its position: the last event in it.
	Seq  int64
	Head []byte
	// Parts follow the first Before parts that are stored already. The others are not used any more.
	Before int
	Parts  [][]byte

	kept *kept
}

// Storable reports whether the fold can be stored: nothing continues the newest run, and there is a transcript.
func (v *Conversation) Storable() bool {
	return v.Run != nil && v.Run.Ended != nil && !v.Stale && !v.Continuable() && !v.Limited() && v.Past.Len() > 1
}

// Due reports whether the fold is worth storing: an opening would fold this many events, 0 for the default, or very large
// messages. The log must hold all of the fold.
func (v *Conversation) Due(every int64) bool {
	if !v.Storable() {
		return false
	}
	k, t := &v.keeping, &v.Past
	if t.Len() < k.weighed {
		k.weighed, k.bytes = 0, 0
	}
	for i := max(k.weighed-t.older.messages, 0); i < len(t.Messages); i++ {
		k.bytes += sizeOf(t.Messages[i].Content)
	}
	k.weighed = t.Len()
	from := max(k.from, k.tried, v.Begin-1)
	return v.Last-from >= cmp.Or(every, storedEvents) || v.Last > from && k.bytes >= storedBytes
}

// sizeOf returns about how many bytes blocks take.
func sizeOf(blocks []event.Block) (n int64) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += int64(len(b.Text))
		case *event.ToolCall:
			n += int64(len(b.Args))
		case *event.ToolResult:
			n += sizeOf(b.Content) + int64(len(b.Structured))
		case *event.Image:
			n += int64(len(b.Data))
		case *event.Document:
			n += int64(len(b.Data) + len(b.Text))
		case *event.Thinking:
			n += int64(len(b.Text) + len(b.Signature))
		case *event.UnknownBlock:
			n += int64(len(b.Raw))
		}
	}
	return n
}

// Store encodes the fold of the conversation. ok is false if it cannot be stored. The caller calls [Conversation.Keep] when
// the result is stored. After Store, the fold is not due for a while.
func (v *Conversation) Store(conversation string) (s *Stored, ok bool) {
	if !v.Storable() {
		return nil, false
	}
	v.keeping.tried, v.keeping.bytes = v.Last, 0
	t := &v.Past
	had, cut := t.kept, t.Len()-1 // the next message may be joined to the last one
	if had != nil && (had.messages < t.older.messages || had.messages > cut) {
		had = nil
	}
	begin := 0
	if had != nil {
		begin = had.messages
	}
	if begin < t.older.messages || cut < begin {
		return nil, false
	}
	next, parts, err := had.add(conversation, t.Messages[begin-t.older.messages:cut-t.older.messages])
	if err != nil || next.bytes > MostStored || len(next.served) > mostServed {
		return nil, false
	}
	next.seq = v.Last
	s = &Stored{Seq: v.Last, Parts: parts, Before: next.parts - len(parts), kept: next}
	s.Head, err = v.head(conversation, next, t.Messages[cut-t.older.messages:])
	return s, err == nil
}

// Keep notes that s is stored.
func (v *Conversation) Keep(s *Stored) { v.Past.kept = s.kept }

// Unkeep notes that the store does not have the parts that the fold knows.
func (v *Conversation) Unkeep() { v.Past.kept = nil }

// uncounted estimates the first messages that the gauge does not cover.
func (v *Conversation) uncounted(first int) int64 {
	t := &v.Past
	if v.gauge.tokens == 0 || v.gauge.messages >= first {
		return 0
	}
	tail := *t
	n := t.older.messages
	tail.Messages = t.Messages[:first-n]
	tokens, _ := tail.tokensOf(&v.gauge)
	return tokens - v.gauge.tokens
}

// FromStored folds what followed a stored fold. events are the log from the event at its position on. It returns nil in any
// doubt: if the head is damaged or of another version or conversation, if the log does not fit, and if an event changes
// what the stored fold holds.
func FromStored(conversation string, seq int64, head []byte, events []*event.Event) *Conversation {
	h, ok := readHead(conversation, head)
	if !ok || h.Seq != seq || len(events) == 0 || !h.endsWith(events[0]) {
		return nil
	}
	v := h.fold(events[0])
	if v == nil {
		return nil
	}
	begin, session := v.Begin, v.Session
	for i, e := range events {
		if e.Seq != seq+int64(i) {
			return nil
		}
		switch b := e.Body.(type) {
		case *event.Compacted:
			if b.From <= seq {
				return nil
			}
		case *event.Redacted:
			if !b.Clean && b.Target <= seq {
				return nil
			}
		case *event.RunStarted:
			if b.Session > session {
				session, begin = b.Session, e.Seq
			}
		}
		v.Hidden.Note(e)
	}
	v.Hidden.Settle(begin)
	v.anew = true
	for _, e := range events[1:] {
		v.Add(e)
	}
	v.Stale, v.anew = false, false
	return v
}

// Older returns the messages of the parts that the fold began with. ok is false if these are other parts, or none are
// missing.
func (v *Conversation) Older(conversation string, parts [][]byte) (first []event.Message, ok bool) {
	if in := v.missingIn(); in != nil {
		return in.read(conversation, parts)
	}
	return nil, false
}

func (v *Conversation) missingIn() *kept {
	if v.Run != nil && v.Run.Scopes[0].Transcript.older.messages > 0 {
		return v.Run.Scopes[0].Transcript.older.in
	}
	return v.Past.older.in
}
