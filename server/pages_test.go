package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/braidrun/braid/internal/race"
)

// A page of large events ends where its bytes do, and says that there are more. Neither the pages nor an export miss one.
func TestPagesOfLargeEvents(t *testing.T) {
	t.Parallel()
	if race.On {
		t.Skip("make test reads these pages without the race detector")
	}
	const large, runs = 2 << 20, 5
	text := bytes.Repeat([]byte("x"), large)
	s := open(t, nil)
	id := s.conversation()
	for range runs {
		frames(t, s.ask("POST", "/v1/conversations/"+id+"/runs", `{"user_input":"`+string(text)+`"}`).Body, nil)
	}
	var after float64
	seen, pages := 0, 0
	for more := true; more; pages++ {
		raw, err := io.ReadAll(s.ask("GET", fmt.Sprintf("/v1/conversations/%s/events?limit=1000&after=%.0f", id, after), "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 4*large+large/2 {
			t.Errorf("page %d has %d bytes", pages, len(raw))
		}
		var page struct {
			Data []json.RawMessage `json:"data"`
			Last float64           `json:"last"`
			More bool              `json:"has_more"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Data) == 0 {
			t.Fatalf("page %d is empty", pages)
		}
		seen += bytes.Count(raw, text)
		after, more = page.Last, page.More
	}
	if pages < 2 || seen < runs {
		t.Errorf("%d pages hold %d of %d inputs", pages, seen, runs)
	}
	export, err := io.ReadAll(s.ask("GET", "/v1/conversations/"+id+"/export", "").Body)
	if n := bytes.Count(export, []byte("\n")); err != nil || float64(n) != after {
		t.Errorf("the export has %d lines, want %.0f: %v", n, after, err)
	}
}
