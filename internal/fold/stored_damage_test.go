package fold_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Each byte of a stored fold counts: with another one it is not used, and nothing breaks.
func TestAStoredFoldWithADamagedByteIsNotUsed(t *testing.T) {
	t.Parallel()
	log := everyEnd()
	v := fold.New(log)
	s, ok := v.Store("c")
	if !ok || len(s.Parts) == 0 {
		t.Fatal("not stored")
	}
	last := log[len(log)-1:]
	open := func(conversation string, head []byte) *fold.Conversation {
		return fold.FromStored(conversation, s.Seq, head, last)
	}
	older := func(parts ...[]byte) bool {
		_, ok := open("c", s.Head).Older("c", parts)
		return ok
	}
	if open("c", s.Head) == nil || !older(s.Parts...) {
		t.Fatal("the whole one is not used")
	}
	damaged(s.Head, func(what string, head []byte) {
		if open("c", head) != nil {
			t.Fatalf("a head is used with %s", what)
		}
	})
	damaged(s.Parts[0], func(what string, part []byte) {
		if older(part) {
			t.Fatalf("a part is used with %s", what)
		}
	})
	text := bytes.Replace(s.Head[:len(s.Head)-sha256.Size], []byte(`"version":1,`), []byte(`"version":2,`), 1)
	sum := sha256.Sum256(text)
	if open("c", append(text, sum[:]...)) != nil {
		t.Error("a head of another version is used")
	}
	if open("another", s.Head) != nil {
		t.Error("the head of another conversation is used")
	}
	if _, ok := open("c", s.Head).Older("another", s.Parts); ok {
		t.Error("the parts of another conversation are used")
	}
	if older() || older(s.Parts[0], s.Parts[0]) != true || older(append([][]byte{{}}, s.Parts...)...) {
		t.Error("other parts are used, or a part behind the last one counts")
	}
	for what, change := range map[string]func(*event.Event){
		"of another run":   func(e *event.Event) { e.Run = "another" },
		"of another time":  func(e *event.Event) { e.Time = e.Time.Add(1) },
		"of another kind":  func(e *event.Event) { e.Body = &event.Notice{} },
		"of another place": func(e *event.Event) { e.Seq++ },
	} {
		e := *last[0]
		change(&e)
		if fold.FromStored("c", s.Seq, s.Head, []*event.Event{&e}) != nil {
			t.Errorf("a head is used with an event %s at its position", what)
		}
	}
	if fold.FromStored("c", s.Seq, s.Head, []*event.Event{}) != nil || fold.FromStored("c", s.Seq-1, s.Head, log[len(log)-2:]) != nil {
		t.Error("a head is used without the event at its position")
	}
}

// damaged calls f with each byte of data changed, left out, or followed by nothing.
func damaged(data []byte, f func(what string, data []byte)) {
	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			other := bytes.Clone(data)
			other[i] ^= bit
			f("a byte changed", other)
		}
		f("an end cut off", data[:i])
		f("a byte left out", append(bytes.Clone(data[:i]), data[i+1:]...))
	}
	f("a byte more", append(bytes.Clone(data), 0))
}
