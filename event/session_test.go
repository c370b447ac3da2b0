package event_test

import (
	"regexp"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestSessionID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^sess_[a-z2-7]{24}$`)
	seen := map[string]bool{"": true}
	for _, conversation := range []string{"conv_a", "conv_b", "a chat", ""} {
		for number := 1; number < 4; number++ {
			id := event.SessionID(conversation, number)
			if !form.MatchString(id) || seen[id] || id != event.SessionID(conversation, number) {
				t.Errorf("session %d of %q is %q", number, conversation, id)
			}
			seen[id] = true
		}
	}
	// Clients keep it: it is the same in every version.
	if got := event.SessionID("conv_a", 1); got != "sess_rd7637nhpcy4is4fu2hchg7r" {
		t.Errorf("it is %s", got)
	}
	if got := event.SessionID("conv_a", 0); got != "" {
		t.Errorf("there is no session 0, and it is %s", got)
	}
}
