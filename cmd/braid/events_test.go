package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or updates the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update to accept:\n%s", path, diff)
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ev makes an event of the root scope.
func ev(cycle int, step string, body event.Body) *event.Event {
	return &event.Event{Header: event.Header{Run: "r", Cycle: cycle, Step: step, Attempt: 1, Author: "assistant", Time: noon, Simulated: true}, Body: body}
}

func text(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }

func call(id, name, args string) *event.ToolCall {
	return &event.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

type brokenWriter struct{ after int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errGone
	}
	return len(p), nil
}

var errGone = errors.New("gone")

func uncoloured(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}
