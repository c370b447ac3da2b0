package foldtest

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
)

// FrozenLogs reads the events of a frozen journal, by conversation.
func FrozenLogs(t *testing.T, file string) map[string][]*event.Event {
	t.Helper()
	f, err := os.Open(file) //nolint:gosec // a file of this module's tests
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	logs := map[string][]*event.Event{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return logs
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) != "events.jsonl" {
			continue
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			e := &event.Event{}
			if err := e.UnmarshalJSON(lines.Bytes()); err != nil {
				t.Fatal(err)
			}
			logs[e.Conversation] = append(logs[e.Conversation], e)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Joined makes one log of several, as if each were a part of one conversation. It copies the events.
func Joined(t *testing.T, logs map[string][]*event.Event) []*event.Event {
	t.Helper()
	var all []*event.Event
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		before := int64(len(all))
		for _, e := range logs[name] {
			raw, err := event.AppendJSON(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			moved := &event.Event{}
			if err := moved.UnmarshalJSON(raw); err != nil {
				t.Fatal(err)
			}
			moved.Seq += before
			switch b := moved.Body.(type) {
			case *event.RunStarted:
				if b.From > 0 {
					b.From += before
				}
			case *event.Redacted:
				b.Target += before
			case *event.Compacted:
				b.From, b.To = b.From+before, b.To+before
				for i := range b.Keep {
					b.Keep[i] += before
				}
			}
			all = append(all, moved)
		}
	}
	return all
}
