package event_test

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files anew instead of comparing them")

// generated compares a file with what it should hold, or writes it with -update.
func generated(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the source says; run: go test ./event -update", path)
	}
}
