package main

import (
	"testing"
	"testing/fstest"

	"github.com/braidrun/braid/model/modeltest"
)

func TestTheTableIsPutBetweenTheMarks(t *testing.T) {
	t.Parallel()
	text := "before\n" + begin + "old\n" + end + "\nafter\n"
	got, err := between([]byte(text), "| new |\n")
	if want := "before\n" + begin + "\n| new |\n\n" + end + "\nafter\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q", err, got)
	}
	again, err := between(got, "| new |\n")
	if err != nil || string(again) != string(got) {
		t.Errorf("a second time it is %q", again)
	}
	for _, wrong := range []string{"", begin, end, end + begin} {
		if _, err := between([]byte(wrong), ""); err == nil {
			t.Errorf("%q has no marks, and nobody says so", wrong)
		}
	}
}

func TestWhatWasSeenIsRead(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"a.json": {Data: []byte(`{"provider":"A","features":{"images":"held"}}`)},
		"b.json": {Data: []byte(`{"provider":"B","features":{"images":"absent"}}`)},
		"n.json": {Data: []byte(`{"features":{"images":"held"}}`)},
		"c.txt":  {Data: []byte("no")},
	}
	seen, err := read(files)
	if err != nil || len(seen) != 2 || seen[0].Provider != "A" || seen[1].Features[modeltest.Images] != modeltest.Absent {
		t.Errorf("%v: %+v", err, seen)
	}
	files["d.json"] = &fstest.MapFile{Data: []byte("{")}
	if _, err := read(files); err == nil {
		t.Error("a broken file was read")
	}
}
