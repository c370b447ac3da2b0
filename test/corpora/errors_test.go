package corpora

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// kinds are the kinds of the recorded refusals: the first row whose pattern is in the name
// counts. A refusal without a row fails, and so does a row without a refusal.
var kinds = []struct {
	pattern string
	kind    event.ErrorKind
}{
	{"raises_appropriate_auth_error", event.ErrModelAuth}, // of 12 vendors; xAI's is a 400
	{"context-specific_api_keys", event.ErrModelAuth},
	{"error_handles_invalid_api_keys", event.ErrModelAuth},
	// Their limits of tokens a minute came before their bounds of a prompt.
	{"azure_grok-4-1-fast-non-reasoning_handles_context_length_exceeded", event.ErrThrottled},
	{"real_error_scenarios_gemini_gemini-2_5-flash_handles_context_length_exceeded", event.ErrThrottled},
	{"handles_context_length_exceeded", event.ErrContextOverflow}, // of 9 vendors
	{"test_openrouter_errors_raised", event.ErrThrottled},
	{"model_name_suggestion", event.ErrModelNotFound},
	{"test_bedrock_error.yaml", event.ErrModelNotFound},
	{"test_bedrock_streaming_error", event.ErrModelNotFound},
	{"test_groq/test_tool_regular_error", event.ErrModelNotFound},
	// What the request says does not fit the model.
	{"test_multimodal_tool_returns/", event.ErrInvalid},
	{"effort_xhigh_unsupported_model", event.ErrInvalid},
	{"rejects_interleaved_function_calls", event.ErrInvalid},
	{"test_groq/test_tool_use_failed", event.ErrInvalid},
	{"test_openai_o1_mini_system_role", event.ErrInvalid},
	{"web_search_tool_model_not_supported", event.ErrInvalid},
	{"test_openai_responses_model_http_error", event.ErrInvalid},
	{"thinking_with_modified_history", event.ErrInvalid},
}

// TestErrors reads every recorded refusal: each has its kind, says what the vendor said, and
// shows no key.
func TestErrors(t *testing.T) {
	s := newStage(t)
	counts, used := map[string]int{}, map[int]bool{}
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
		counts[fmt.Sprintf("%-14s %d %s", x.api, x.status, e.Kind)]++
		if text := e.Error() + e.Message + e.Hint + fmt.Sprint(e.Err); strings.Contains(text, theKey) {
			t.Errorf("%s: shows the key: %s", x.name(), text)
		}
		row := kindOf(&x)
		used[row] = true
		switch {
		case row < 0:
			t.Errorf("%s (%d, %s): no row says its kind: %s of %.300s", x.name(), x.status, x.host, e.Kind, x.body)
		case e.Kind != kinds[row].kind:
			t.Errorf("%s (%d, %s): kind %s, want %s: %.300s", x.name(), x.status, x.host, e.Kind, kinds[row].kind, x.body)
		case x.status < 500 && !repeats(e.Message, x.body):
			t.Errorf("%s: %q says nothing of %.300s", x.name(), e.Message, x.body)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d × %s", counts[k], k)
	}
	if n == 0 {
		t.Skip("the recordings that are there have no refusals")
	}
	t.Logf("%d refusals", n)
	for i := range kinds {
		if !used[i] && present(kinds[i].pattern) {
			t.Errorf("no refusal has the name of row %q", kinds[i].pattern)
		}
	}
}

// kindOf is the row of a refusal; -1 is none.
func kindOf(x *exchange) int {
	for i := range kinds {
		if strings.Contains(x.name(), kinds[i].pattern) {
			return i
		}
	}
	return -1
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
