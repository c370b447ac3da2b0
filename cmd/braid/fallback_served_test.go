package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/model/openai/openaitest"
)

// The fallback depends on the kind of the provider's error. The tenant gets a general message.
func TestAServersFallbackSeesWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	refuses := openaitest.Error(400, "invalid_request_error", "invalid_value", "FIRST_API_KEY: no such option for tok-of-the-caller.")
	for _, c := range []struct {
		name, on string
		status   int
		want     string
	}{
		{"invalid is listed", "invalid", 200, "Hello from the second."},
		{"so is the kind that the tenant reads", "model_error", 200, "Hello from the second."},
		{"another kind is listed", "overloaded", 502, `"SDK_ERROR"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, second := openaitest.Start(refuses), openaitest.Start(openaitest.Text(openaitest.Chat, "Hello from the second."))
			t.Cleanup(first.Close)
			t.Cleanup(second.Close)
			s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"FIRST_API_KEY": openaitest.Key, "SECOND_API_KEY": openaitest.Key},
				"--model", "openai:gpt-5.4?api=chat&key=FIRST_API_KEY&base="+first.URL,
				"--fallback", "openai:gpt-5.4-mini?api=chat&key=SECOND_API_KEY&base="+second.URL, "--fallback-on", c.on, "--tools", "none")
			conv := s.conversation("")
			body := `{"user_input":"Hi.","tokens":{"github":"tok-of-the-caller"}}` // its mask also applies to errors
			status, answer := s.ask("", "POST", "/v1/conversations/"+conv+"/runs", body)
			if status != c.status || !strings.Contains(answer, c.want) {
				t.Errorf("%d %s, want %d and %s", status, answer, c.status, c.want)
			}
			_, events := s.ask("", "GET", "/v1/conversations/"+conv+"/events", "")
			if strings.Contains(answer+events, "FIRST_API_KEY") {
				t.Errorf("the name of a variable is told: %s %s", answer, events)
			}
		})
	}
}
