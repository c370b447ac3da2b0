package worker

import (
	"testing"

	"github.com/braidrun/braid/event"
)

// The model refuses what no provider accepts, with the reason, and accepts what all accept.
func TestWhatIsWrongWithAHistory(t *testing.T) {
	t.Parallel()
	text := func(role event.Role) event.Message {
		return event.Message{Role: role, Content: []event.Block{&event.Text{Text: "x"}}}
	}
	call := event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "1"}, &event.ToolCall{ID: "2"}}}
	result := func(ids ...string) event.Message {
		m := event.Message{Role: event.RoleUser}
		for _, id := range ids {
			m.Content = append(m.Content, &event.ToolResult{Call: id})
		}
		return m
	}
	user, model := text(event.RoleUser), text(event.RoleAssistant)
	for name, c := range map[string]struct {
		messages []event.Message
		wrong    bool
	}{
		"a question":                   {[]event.Message{user}, false},
		"a call with its results":      {[]event.Message{user, call, result("2", "1"), model, user}, false},
		"nothing":                      {nil, true},
		"an answer at the end":         {[]event.Message{user, model}, true},
		"two of one side":              {[]event.Message{user, user, user}, true},
		"a call without a result":      {[]event.Message{user, call, result("1")}, true},
		"a call without any result":    {[]event.Message{user, call, user}, true},
		"a result without a call":      {[]event.Message{result("1")}, true},
		"a result twice":               {[]event.Message{user, call, result("1", "2", "2")}, true},
		"a result that comes too late": {[]event.Message{user, call, result("1", "2"), model, result("1")}, true},
	} {
		if got := wrongWith(c.messages); (got != "") != c.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
}
