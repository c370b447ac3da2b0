package fold

import (
	"cmp"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// A text that is cut keeps its ends, and says how much is missing.
func TestLongResultsAreCut(t *testing.T) {
	t.Parallel()
	for length, cut := range map[int]bool{400: false, 401: true} {
		r := cutResult(&event.ToolResult{Content: []event.Block{&event.Text{Text: strings.Repeat("あ", length)}}})
		text := event.TextOf(r.Content)
		if is := strings.Count(text, "あ") == 400 && strings.Contains(text, "[1 characters"); is != cut || !cut && strings.Count(text, "あ") != length {
			t.Errorf("%d characters become %q", length, text)
		}
	}
}

func TestStepsAreComparedAsTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	in := []string{"t1.0", "t1.1", "t1.1/t1.0", "t1.1/t2.0", "t1.1/t10.0", "t1.2", "t1.10", "t2.0", "t10.0"}
	for i, a := range in {
		for j, b := range in {
			if got, want := compareSteps(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
}
