package event_test

import (
	"testing"

	"github.com/braidrun/braid/event"
)

// A stopWord is one foreign word for why something ended, and ours for it.
type stopWord struct {
	theirs string
	ours   event.StopReason
	// why is the loop's reason that follows from it.
	why event.Why
}

// Anthropic's Messages API, as the Claude program passes it on.
var anthropicStops = []stopWord{
	{"end_turn", event.StopEndTurn, event.WhyEndTurn},
	{"tool_use", event.StopToolUse, event.WhyToolResults},
	{"stop_sequence", event.StopSequence, event.WhyEndTurn},
	{"max_tokens", event.StopMaxTokens, event.WhyMaxTokens},
	{"refusal", event.StopRefusal, event.WhyModelStop},
	{"pause_turn", event.StopPause, event.WhyPaused},
	{"model_context_window_exceeded", event.StopContextOverflow, event.WhyModelStop},
}

// ADK's finishReason is Gemini's. STOP says both "done" and "call my tools".
var adkStops = []stopWord{
	{"STOP", event.StopEndTurn, event.WhyEndTurn},
	{"MAX_TOKENS", event.StopMaxTokens, event.WhyMaxTokens},
	{"SAFETY", event.StopContentFiltered, event.WhyModelStop},
	{"RECITATION", "RECITATION", event.WhyModelStop},
	{"MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL", event.WhyModelStop},
}

// oursOf looks a foreign word up; one that nobody has written down stays as it is.
func oursOf(words []stopWord, theirs string) event.StopReason {
	for _, w := range words {
		if w.theirs == theirs {
			return w.ours
		}
	}
	return event.StopReason(theirs)
}

// theirsOf is the way back; ours without a foreign word is sent as it is.
func theirsOf(words []stopWord, ours event.StopReason) string {
	for _, w := range words {
		if w.ours == ours {
			return w.theirs
		}
	}
	return string(ours)
}

// Every foreign stop reason goes in and comes out as it was, and one that this
// version has never heard of does too.
func TestVocabularyStopReasonsAreAnOpenSet(t *testing.T) {
	t.Parallel()
	for form, words := range map[string][]stopWord{
		"anthropic": anthropicStops, "adk": adkStops,
	} {
		ours := make(map[event.StopReason]string)
		for _, w := range words {
			if back := theirsOf(words, oursOf(words, w.theirs)); back != w.theirs {
				t.Errorf("%s: %q came back as %q", form, w.theirs, back)
			}
			if first, twice := ours[w.ours]; twice {
				t.Errorf("%s: %q and %q both become %q", form, first, w.theirs, w.ours)
			}
			ours[w.ours] = w.theirs
		}
		const unheard = "resting_its_eyes"
		if got := oursOf(words, unheard); got != unheard {
			t.Errorf("%s: an unknown reason became %q", form, got)
		}
		if got := theirsOf(words, unheard); got != unheard {
			t.Errorf("%s: an unknown reason was written as %q", form, got)
		}
	}
}
