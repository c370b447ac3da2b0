package service

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/wire/wiretest"
)

// sameRows compares the rows of the tracker and of the message log with those of the folds that they had before they shared
// one. cut says where a batch ends.
func sameRows(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, log []*event.Event, cut func() bool) {
	t.Helper()
	source := func(agent, tool string) string { return agent + "/" + tool }
	track, was := &ToolTracker{source: source}, &oldTracker{source: source}
	var messages messageLog
	var wrote oldMessageLog
	for i, e := range log {
		track.fold(e)
		was.fold(e)
		if cut() || i == len(log)-1 {
			byStep := func(a, b journal.ToolEntry) int { return strings.Compare(a.Step, b.Step) }
			slices.SortStableFunc(track.tools, byStep)
			slices.SortStableFunc(was.tools, byStep)
			if !reflect.DeepEqual(track.tools, was.tools) || !reflect.DeepEqual(track.usage, was.usage) {
				t.Fatalf("after event %d the rows are\n%+v\n%+v\nand were\n%+v\n%+v", i+1, track.tools, track.usage, was.tools, was.usage)
			}
			track.tools, track.usage, was.tools, was.usage = nil, nil, nil, nil
		}
		messages.take(e)
		wrote.take(e)
		if _, ends := e.Body.(*event.RunEnded); ends || i == len(log)-1 {
			if !reflect.DeepEqual(messages.rows, wrote.rows) {
				t.Fatalf("after event %d the messages are\n%+v\nand were\n%+v", i+1, messages.rows, wrote.rows)
			}
		}
		if _, ends := e.Body.(*event.RunEnded); ends {
			track, was = &ToolTracker{source: source}, &oldTracker{source: source}
		}
	}
}

func TestRowsAreTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log []*event.Event
		for _, e := range wiretest.Conversation().Draw(t, "conversation") {
			if !e.Live() {
				log = append(log, &e)
			}
		}
		sameRows(t, log, func() bool { return rapid.Bool().Draw(t, "cut") })
	})
}

func TestFrozenJournalsHaveTheSameRows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no frozen journal", err)
	}
	for _, file := range files {
		for _, log := range frozenLogs(t, file) {
			for every := range 3 {
				n := 0
				sameRows(t, log, func() bool { n++; return n%(every*3+1) == 0 })
			}
		}
	}
}

// frozenLogs reads the events of a frozen journal, by conversation.
func frozenLogs(t *testing.T, file string) map[string][]*event.Event {
	t.Helper()
	f, err := os.Open(file)
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
