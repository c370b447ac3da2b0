//go:build peers

package agentcorepeer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPage looks at the page as a person does: text as it grows, two cards for two tools of
// one message, tokens, Japanese, the raw events on demand, errors. With BRAID_SCREENSHOT set
// the picture in the guide is made anew.
func TestPage(t *testing.T) {
	s := serve(t)
	picture := filepath.Join(t.TempDir(), "page.png")
	if os.Getenv("BRAID_SCREENSHOT") != "" {
		picture = filepath.Join("..", "..", "..", "docs", "guide", "agentcore-page.png")
	}
	type card struct{ Head, Input, Result string }
	var got struct {
		Problems                         []string
		Address                          string
		Grows                            []string
		Counted, CountedUsage            string
		Cards                            []card
		Texts                            []string
		Bold                             int
		Usage, EventsHidden, EventsShown string
		Events                           int
		Failed, Stopped, Refused         string
	}
	node(t, &got, "page.mjs", s.page, picture)
	if len(got.Problems) > 0 {
		t.Fatal(joined(got.Problems))
	}
	if strings.Contains(got.Address, "token") {
		t.Errorf("the token stays in the address: %s", got.Address)
	}
	const least = 3 // of the twenty words, on a machine that has little time for a browser
	if len(got.Grows) < least || got.Grows[0] == got.Counted || !strings.HasSuffix(got.Counted, "nineteen twenty") {
		t.Errorf("the text comes in %d steps: %q", len(got.Grows), got.Grows)
	}
	for i := 1; i < len(got.Grows); i++ {
		if !strings.HasPrefix(got.Grows[i], got.Grows[i-1]) {
			t.Errorf("the text goes back: %q, then %q", got.Grows[i-1], got.Grows[i])
		}
	}
	if !strings.HasPrefix(got.CountedUsage, "10 in · 20 out · 30 tokens · model ") {
		t.Errorf("usage %q", got.CountedUsage)
	}
	if len(got.Cards) == 2 { // the clock's result is another each time
		if !strings.Contains(got.Cards[1].Result, "JST") {
			t.Errorf("the clock says %q", got.Cards[1].Result)
		}
		got.Cards[1].Result = ""
	}
	if d := cmp.Diff([]card{
		{"🔧 calculator", "{\n  \"expression\": \"6*7\"\n}", "42"},
		{"🔧 clock", "{\n  \"zone\": \"Asia/Tokyo\"\n}", ""},
	}, got.Cards); d != "" {
		t.Errorf("the cards (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"両方を調べます。", "答えは 42 です。 <b>太字ではない</b>"}, got.Texts); d != "" || got.Bold != 0 {
		t.Errorf("the texts (-want +got):\n%s; %d are bold", d, got.Bold)
	}
	if !regexp.MustCompile(`^3,543 in · 200 out · 3,743 tokens · model [\d,]+ ms · [\d.]+ s total$`).MatchString(got.Usage) {
		t.Errorf("usage %q", got.Usage)
	}
	if got.EventsHidden != "none" || got.EventsShown != "block" || got.Events < 20 {
		t.Errorf("events: %s, then %s with %d", got.EventsHidden, got.EventsShown, got.Events)
	}
	if !strings.Contains(got.Failed, "simulated provider") || got.Stopped != "Stopped." || !strings.HasPrefix(got.Refused, "401 AccessDeniedException") {
		t.Errorf("errors: %q, %q, %q", got.Failed, got.Stopped, got.Refused)
	}
	if info, err := os.Stat(picture); err != nil || info.Size() < 10_000 {
		t.Errorf("the picture: %v", err)
	}
	eventually(t, "who stops does not cancel the run", func() bool { return s.runs(t)["cancelled"] == 1 })
}
