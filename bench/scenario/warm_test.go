package scenario

import "testing"

// TestConversationsStayAsLongAsTheRowSays holds that there are enough of them.
func TestConversationsStayAsLongAsTheRowSays(t *testing.T) {
	t.Parallel()
	for _, prior := range priors {
		most := mostTurns(prior)
		if most < 200 {
			t.Errorf("%d messages: %d turns are too few to time", prior, most)
		}
		for n := 1; n <= most; n++ {
			sessions := sessionsFor(prior, n)
			if last := (n - 1) / turnsEach(prior); last != sessions-1 {
				t.Fatalf("%d messages, %d turns: %d conversations, and the last turn is on number %d",
					prior, n, sessions, last+1)
			}
		}
		// A turn adds two messages.
		if grown := 2 * turnsEach(prior); grown > max(40, prior/10) {
			t.Errorf("%d messages: a conversation grows by %d", prior, grown)
		}
	}
}
