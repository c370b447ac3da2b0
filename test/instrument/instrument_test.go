package instrument

import (
	"strings"
	"testing"
)

// Every edit fits the code: its text stands in one place, and the new text has as many lines.
func TestEditsFit(t *testing.T) {
	t.Parallel()
	if _, err := Overlay("../..", t.TempDir()); err != nil {
		t.Error(err)
	}
	for _, e := range append(points, bugs...) {
		if strings.Count(e.Old, "\n") != strings.Count(e.New, "\n") {
			t.Errorf("%q has other lines than %q", e.New, e.Old)
		}
	}
}

// An edit whose text is gone, or stands twice, is refused.
func TestEditsThatDoNotFit(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.go": "one two two", "b.go": "three one"}
	for _, old := range []string{"one", "two", "four"} {
		if err := (Edit{".", old, "x"}).apply(files); err == nil {
			t.Errorf("%q is replaced", old)
		}
	}
	if err := (Edit{".", "three", "x"}).apply(files); err != nil || files["b.go"] != "x one" {
		t.Errorf("%q, %v", files["b.go"], err)
	}
}
