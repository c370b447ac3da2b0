package corpora

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// What a body says for certain, whichever vendor it is from.
var (
	tooLong = regexp.MustCompile(`(?i)prompt (is )?too long|maximum context length|context_length_exceeded|too_many_prompt_tokens|exceeds the context window`)
	badKey  = regexp.MustCompile(`(?i)incorrect api key|invalid api key|invalid x-api-key|API key not valid|invalid_api_key`)
)

// TestErrors reads every recorded refusal: each is typed, says what the vendor said, shows no
// key, and where the body says for certain what it is, has that kind.
func TestErrors(t *testing.T) {
	s := newStage(t)
	kinds := map[string]int{}
	n := 0
	for _, x := range recorded(t) {
		if x.status < 400 {
			continue
		}
		n++
		r, _ := s.play(t.Context(), t, &x, way{cut: -1}, ask())
		e, ok := errors.AsType[*event.Error](r.Err)
		if !ok || e.Kind == "" || e.Message == "" {
			t.Errorf("%s: an error without a type: %v", x.name(), r.Err)
			continue
		}
		kinds[fmt.Sprintf("%-14s %d %s", x.api, x.status, e.Kind)]++
		if text := e.Error() + e.Message + e.Hint + fmt.Sprint(e.Err); strings.Contains(text, theKey) {
			t.Errorf("%s: shows the key: %s", x.name(), text)
		}
		switch want := certain(&x); {
		case want != "" && e.Kind != want:
			t.Errorf("%s (%d, %s): kind %s, want %s: %.300s", x.name(), x.status, x.host, e.Kind, want, x.body)
		case x.status < 500 && !repeats(e.Message, x.body):
			t.Errorf("%s: %q says nothing of %.300s", x.name(), e.Message, x.body)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%4d × %s", kinds[k], k)
	}
	if n == 0 {
		t.Skip("the recordings that are there have no refusals")
	}
}

// certain is the kind of an error whose body or status leaves no doubt.
func certain(x *exchange) event.ErrorKind {
	body := string(x.body)
	switch {
	case tooLong.MatchString(body):
		return event.ErrContextOverflow
	case badKey.MatchString(body) || x.status == 401:
		return event.ErrModelAuth
	case x.status == 429 && !strings.Contains(body, "quota") && !strings.Contains(body, "billing"):
		return event.ErrThrottled
	case x.status == 413:
		return event.ErrTooLarge
	case x.status == 500:
		return event.ErrUnavailable
	case x.status == 529:
		return event.ErrOverloaded
	}
	return ""
}

// repeats reports whether a message has some words of what the vendor said.
func repeats(message string, body []byte) bool {
	for _, word := range strings.FieldsFunc(message, func(r rune) bool { return ('a' > r || r > 'z') && ('A' > r || r > 'Z') }) {
		if len(word) > 4 && strings.Contains(strings.ToLower(string(body)), strings.ToLower(word)) {
			return true
		}
	}
	return len(body) < 20
}
