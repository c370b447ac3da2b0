package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid/event"
)

// real returns the options of the real program, whose provider is on loopback. The test is skipped without it.
func real(t *testing.T, url, home string) []Option {
	t.Helper()
	path := os.Getenv("BRAID_PEERS_CLAUDE")
	if path == "" {
		t.Skip("BRAID_PEERS_CLAUDE is not set: run scripts/test-peers claude")
	}
	return []Option{
		Command(path), CleanEnv(), Dir(t.TempDir()), SettingSources(), StrictMCP(), Tools(), Literal(), Env(
			"HOME="+home, "CLAUDE_CONFIG_DIR="+home, "TMPDIR="+t.TempDir(), "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=sk-test",
			"CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"),
	}
}

// provider answers each request with a text that has its model and the number of messages of the assistant. A prompt with
// SLOW gets an answer that never ends.
func provider(t *testing.T) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string `json:"model"`
			Stream   bool   `json:"stream"`
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if r.URL.Path != "/v1/messages" || json.NewDecoder(r.Body).Decode(&q) != nil {
			http.NotFound(w, r)
			return
		}
		said, slow := 0, false
		for _, m := range q.Messages {
			if m.Role == "assistant" {
				said++
			}
			slow = m.Role == "user" && strings.Contains(string(m.Content), "SLOW") || slow && m.Role != "user"
		}
		if !q.Stream { // the program checks a new model
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"msg_x","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"x"}],`+
				`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, q.Model)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(kind, rest string) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest)
			w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
		}
		send("message_start", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[],`+
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`, n.Add(1), q.Model))
		stop := "end_turn"
		if said == 0 && slices.ContainsFunc(q.Tools, func(t struct {
			Name string `json:"name"`
		},
		) bool {
			return t.Name == "StructuredOutput"
		}) {
			stop = "tool_use"
			send("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"StructuredOutput","input":{}}`)
			send("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":7}"}`)
		} else {
			send("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			send("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":"%s %d"}`, q.Model, said))
			if slow {
				<-r.Context().Done()
				return
			}
		}
		send("content_block_stop", `"index":0`)
		send("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":2}`, stop))
		send("message_stop", `"x":0`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// answerOf runs a turn and returns its result.
func answerOf(t *testing.T, c *Client, prompt string) *Result {
	t.Helper()
	var last *Result
	for m, err := range c.Turn(t.Context(), prompt) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.(*Result); ok {
			last = r
		}
	}
	return last
}

// The real program: many turns, a change of model, an interrupt that keeps the process, and a resume in another folder and
// process.
func TestProgramManyTurns(t *testing.T) {
	t.Parallel()
	url, home := provider(t), t.TempDir()
	opts := real(t, url, home)
	c, err := Open(t.Context(), append(opts, Model("claude-a"), PartialMessages())...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := answerOf(t, c, "/compact is text")
	if first.Text != "claude-a 0" {
		t.Errorf("%q", first.Text)
	}
	if err := c.SetModel(t.Context(), "claude-b"); err != nil {
		t.Error(err)
	}
	for m, err := range c.Turn(t.Context(), "SLOW") {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := m.(*StreamEvent); ok && e.Event.Delta.Text != "" {
			if err := c.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if r, ok := m.(*Result); ok && !errors.Is(r.Err(), event.ErrCancelled) {
			t.Error(r.Err())
		}
	}
	if r := answerOf(t, c, "third"); !strings.HasPrefix(r.Text, "claude-b ") {
		t.Errorf("%q", r.Text)
	}
	if u, err := c.ContextUsage(t.Context()); err != nil || u.Max == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := c.Control(t.Context(), "no_such_request", nil); !errors.Is(err, event.ErrUnsupported) {
		t.Error(err)
	}
	_ = c.Close()
	again, err := Open(t.Context(), append(real(t, url, home), Model("claude-a"), Resume(first.Session))...)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if r := answerOf(t, again, "fourth"); r.Session != first.Session || r.Text == "claude-a 0" {
		t.Errorf("%q in session %s", r.Text, r.Session)
	}
}

// The real program answers in the form of a schema.
func TestProgramSchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
	c, err := Open(t.Context(), append(real(t, provider(t), t.TempDir()), Model("claude-a"), Tools("Read"), JSONSchema(schema))...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := answerOf(t, c, "go"); string(r.Structured) != `{"n":7}` {
		t.Errorf("%s, %q, %v", r.Structured, r.Text, r.Err())
	}
}
