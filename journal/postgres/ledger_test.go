package postgres_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
)

// The 10,000 messages of a very long run are stored within 2 s.
func TestManyMessagesAreKeptInTime(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, server(t)))
	if _, err := s.Admit(t.Context(), journal.Run{ID: "run", Conversation: "talk", Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	list := make([]journal.MessageEntry, 10_000)
	for i := range list {
		list[i] = journal.MessageEntry{
			MessagePlace: journal.MessagePlace{Seq: int64(i + 1)}, Type: "assistant", Subtype: "text",
			Content: json.RawMessage(fmt.Sprintf(`{"text":"%0500d"}`, i)), Time: time.Unix(0, 0),
		}
	}
	began := time.Now()
	if err := s.KeepMessages(t.Context(), "run", list); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("10,000 messages took %v", took)
	} else {
		t.Logf("10,000 messages took %v", took)
	}
	got, err := s.Messages(t.Context(), journal.MessageQuery{Tenant: "acme", Conversation: "talk", After: journal.MessagePlace{Seq: 9_990}})
	if err != nil || len(got) != 10 {
		t.Errorf("the last are %d, %v", len(got), err)
	}
}
