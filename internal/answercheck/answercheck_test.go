package answercheck

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestAnswersAndTheirQuestions(t *testing.T) {
	t.Parallel()
	number := event.Asked{Ask: event.AskInput, Schema: json.RawMessage(`{"type":"integer"}`)}
	plain := event.Asked{Ask: event.AskApproval, Schema: json.RawMessage(`{"type":"boolean"}`)}
	permission := event.Asked{Ask: event.AskApproval, Name: event.PermissionQuestion}
	for _, c := range []struct {
		name  string
		asked event.Asked
		value any
		fits  bool
	}{
		{"a number", number, 3, true},
		{"null for a number", number, nil, true},
		{"a word for a number", number, "three", false},
		{"a yes", plain, true, true},
		{"a no with a reason", plain, event.Approval{Reason: "no"}, true},
		{"a word for a yes", plain, "yes", false},
		{"an approval that lasts, where nobody asked for one", plain, map[string]any{"approved": true, "lasts": "always"}, false},
		{"an approval that lasts", permission, map[string]any{"approved": true, "lasts": "always"}, true},
		{"a refusal that lasts", permission, map[string]any{"approved": false, "lasts": "always"}, false},
		{"anything, where there is no schema", event.Asked{Ask: event.AskInput}, []int{1}, true},
		{"what cannot be JSON", event.Asked{Ask: event.AskInput}, func() {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := CheckValue(&c.asked, c.value)
			if c.fits && err != nil || !c.fits && !errors.Is(err, event.ErrInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}
