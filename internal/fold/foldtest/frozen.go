package foldtest

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
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
