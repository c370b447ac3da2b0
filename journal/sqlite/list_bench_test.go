package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// crowd makes n conversations of one run each, with input of 4 KiB.
func crowd(tb testing.TB, s *sqlite.Store, n int) {
	tb.Helper()
	input := newTurn("", "").run.Input
	for range 6 {
		input = append(input, input...)
	}
	for i := range n {
		id := fmt.Sprint("run ", i)
		_, err := s.Admit(tb.Context(), journal.Run{ID: id, Conversation: "talk " + id, Tenant: "acme", Agent: "calc", Input: input})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// A page of 50 in the middle of 10,000 conversations.
func BenchmarkConversations(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{Relaxed: true})
	crowd(b, s, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		list, err := s.Conversations(b.Context(), "acme", "talk run 5000", 50)
		if err != nil || len(list) != 50 || list[0].ID != "talk run 4999" {
			b.Fatal(list, err)
		}
	}
}

// The query of a sweep with 1,000 open runs.
func BenchmarkDue(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{Relaxed: true})
	crowd(b, s, 1000)
	b.ReportAllocs()
	for b.Loop() {
		due, err := s.Due(b.Context(), 2000)
		if err != nil || len(due) != 1000 {
			b.Fatal(len(due), err)
		}
	}
}
