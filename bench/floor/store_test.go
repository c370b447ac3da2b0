package floor

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// What is compared with a durable journal is as durable.
func TestTheStoreIsDurable(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var mode string
	var synchronous int
	row := s.conn.QueryRowContext(context.Background(), `SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous`)
	if err := row.Scan(&mode, &synchronous); err != nil || mode != "wal" || synchronous != 2 {
		t.Errorf("the store's settings are %q and %d: %v", mode, synchronous, err)
	}
}

func TestAStoredSession(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	e := []*Event{
		{Seq: 1, Session: "s", Kind: UserSaid, Message: &Message{Role: "user", Text: "hi"}},
		{Seq: 2, Session: "s", Kind: ModelSaid, Message: &Message{Role: "assistant", Calls: []Call{{ID: "c", Name: "add", Args: []byte(`{}`)}}}},
		{Seq: 3, Session: "s", Kind: ToolsDone, Message: &Message{Role: "user", Results: []Result{{Call: "c", Text: "8"}}}},
	}
	for i, err := range []error{s.Append("s", 1, e[0]), s.Append("s", 2, e[1], e[2]), s.Append("other", 1, e[0])} {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	for from, want := range map[int64][]*Event{0: e, 2: e[1:], 3: nil} {
		got, err := s.Load("s", from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Events()); diff != "" {
			t.Errorf("from %d: %s", from, diff)
		}
	}
	if err := s.Append("s", 1, e[0]); err == nil {
		t.Error("a row was written twice")
	}
}
