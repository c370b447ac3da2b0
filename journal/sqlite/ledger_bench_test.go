package sqlite_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// manyMessages returns the messages of a very long run, about 500 bytes each.
func manyMessages(n int) []journal.MessageEntry {
	list := make([]journal.MessageEntry, n)
	content := json.RawMessage(fmt.Sprintf(`{"text":"%0500d"}`, 7))
	for i := range list {
		list[i] = journal.MessageEntry{
			MessagePlace: journal.MessagePlace{Seq: int64(i + 1)}, Type: "assistant", Subtype: "text", Content: content, Time: time.Unix(0, 0),
		}
	}
	return list
}

// BenchmarkKeepMessages stores 10,000 messages. The limit is 2 s.
func BenchmarkKeepMessages(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{})
	crowd(b, s, 1)
	list := manyMessages(10_000)
	for b.Loop() {
		if err := s.KeepMessages(b.Context(), "run 0", list); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommitRows measures a durable commit of one event, without rows for the ledger, and with
// one of usage and one of a tool.
func BenchmarkCommitRows(b *testing.B) {
	for _, rows := range []int{0, 1} {
		b.Run(fmt.Sprint(rows, " of each"), func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Options{})
			crowd(b, s, 1)
			o, err := s.Acquire(b.Context(), "run 0", 0)
			if err != nil {
				b.Fatal(err)
			}
			seq := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				e := noted(o.Lease, seq)
				batch := journal.Batch{Events: e}
				for range rows {
					batch.Usage = []journal.UsageEntry{{Step: "m", Attempt: int(seq), Kind: journal.UsageModel, Model: "demo", Time: time.Unix(0, 0)}}
					batch.Tools = []journal.ToolEntry{{Step: fmt.Sprint("t", seq), Name: "look", Input: []byte(`{}`), Began: time.Unix(0, 0)}}
				}
				if err := s.Commit(b.Context(), o.Lease, batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func noted(l journal.Lease, seq int64) []*event.Event {
	return []*event.Event{{
		Header: event.Header{Seq: seq, Conversation: l.Conversation, Run: l.Run, Time: time.Unix(0, 0)}, Body: &event.Notice{Code: "n"},
	}}
}
