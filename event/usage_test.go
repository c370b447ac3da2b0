package event_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestClipBoundsSearches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		web, files         int64
		wantWeb, wantFiles int64
		faults             []string
	}{
		{3, 2, 3, 2, nil},
		{-1, 0, 0, 0, []string{"an impossible number of searches"}},
		{math.MaxInt64, math.MinInt64, 1 << 20, 0, []string{"an impossible number of searches"}},
	} {
		u, faults := event.Usage{Input: 7, Output: 2, Total: 10, WebSearches: tc.web, FileSearches: tc.files}.Clip()
		want := event.Usage{Input: 7, Output: 2, Total: 10, WebSearches: tc.wantWeb, FileSearches: tc.wantFiles}
		if u != want || !slices.Equal(faults, tc.faults) {
			t.Errorf("%d and %d searches: %+v, %q", tc.web, tc.files, u, faults)
		}
	}
}

// A log of before has no searches, and a usage without searches is written as it was.
func TestSearchesInTheLog(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]event.Usage{
		`{"stop":"end_turn","usage":{"input":7,"cache_write_hour":1}}`:               {Input: 7, CacheWriteHour: 1},
		`{"stop":"end_turn","usage":{"input":7,"web_searches":3,"file_searches":2}}`: {Input: 7, WebSearches: 3, FileSearches: 2},
	} {
		whole := `{"seq":1,"conversation":"c","kind":"assistant_message","body":` + text + `}`
		var e event.Event
		if err := json.Unmarshal([]byte(whole), &e); err != nil {
			t.Fatal(err)
		}
		m, ok := e.Body.(*event.AssistantMessage)
		if !ok || m.Usage != want {
			t.Errorf("%s is read as %+v", text, e.Body)
		}
	}
}
