package fold_test

import (
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/internal/fold/foldtest"
)

func TestStoredFoldIsTheFoldOfTheWholeLogOfFrozenJournals(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	compared := 0
	for _, file := range files {
		logs := foldtest.FrozenLogs(t, file)
		logs["all in one conversation"] = foldtest.Joined(t, logs)
		for name, log := range logs {
			n, err := foldtest.StoredFolds(log)
			if compared += n; err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), name, err)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d folds were compared", compared)
	}
}
