package braid

import (
	"testing"

	"github.com/braidrun/braid/internal/drive"
)

// The figures are those that the comments promise; a share that cannot be counts as the nearest one.
func TestTheFiguresOfManagement(t *testing.T) {
	t.Parallel()
	m, err := (&Management{}).managing()
	if err != nil || m.At != 0.7 || m.Tries != 3 || m.Window >= 0 || m.Summary == nil || m.Summary.Ratio != 0.3 || m.Summary.Recent != 10 {
		t.Errorf("by itself: %+v, %+v, %v", m, m.Summary, err)
	}
	if drive.DefaultContext != 200_000 {
		t.Errorf("a model that says nothing has a context of %d", drive.DefaultContext)
	}
	for given, want := range map[float64]float64{0: 0.3, 0.01: 0.1, 0.1: 0.1, 0.5: 0.5, 0.8: 0.8, 0.9: 0.8, -1: 0.1} {
		if got := (Summarize{Ratio: given}).filled().Ratio; got != want {
			t.Errorf("of a ratio of %v becomes %v, want %v", given, got, want)
		}
	}
	for given, want := range map[int]int{0: 10, -1: 0, 3: 3} {
		if got := (Summarize{Recent: given}).filled().Recent; got != want {
			t.Errorf("of the newest %d messages %d stay, want %d", given, got, want)
		}
	}
}
