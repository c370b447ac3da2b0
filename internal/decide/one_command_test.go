package decide_test

import (
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

func TestOneLogGivesOneCommand(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		if err := decidetest.UnderAll(c.log.Log, nil); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Every journal of every version that was frozen gives one command at every event.
func TestFrozenJournalsGiveOneCommand(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no frozen journal", err)
	}
	for _, file := range files {
		logs := foldtest.FrozenLogs(t, file)
		if len(logs) < 5 {
			t.Errorf("%s has %d conversations", file, len(logs))
		}
		for name, log := range logs {
			if err := decidetest.UnderAll(log, nil); err != nil {
				t.Errorf("%s, conversation %s: %v", file, name, err)
			}
		}
	}
}
