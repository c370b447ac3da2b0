package runner_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// messages is the Messages API on loopback, for the real program. Its answers are made by a function.
type messages struct {
	*httptest.Server
	answer func(r *asked) said

	mu  sync.Mutex
	all []*asked
}

// asked is a request.
type asked struct {
	n int
	// Agent is the id of the sub-agent that asks; empty for the main agent.
	Agent string
	Model string `json:"model"`
	// Messages are those of the conversation, without the program's own reminders for the system.
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	System json.RawMessage `json:"system"`
	Stream bool            `json:"stream"`
}

// answers counts the assistant's messages.
func (a *asked) answers() (n int) {
	for _, m := range a.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// text is everything that was sent.
func (a *asked) text() string {
	var all strings.Builder
	for _, m := range a.Messages {
		all.WriteString(m.Role + " ")
		all.Write(m.Content)
		all.WriteString("\n")
	}
	return all.String()
}

// said is an answer: a text, calls, and its usage. A status is a failure.
type said struct {
	status int
	text   string
	calls  []toolCall
	in     int
	out    int
	// slow keeps the stream open after the first piece until the client leaves; cut sends an error event there.
	slow, cut bool
}

type toolCall struct{ id, name, input string }

func startMessages(t *testing.T, answer func(*asked) said) *messages {
	t.Helper()
	m := &messages{answer: answer}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// requests returns the calls of models so far.
func (m *messages) requests() []*asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*asked(nil), m.all...)
}

func (m *messages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/v1/messages" {
		http.NotFound(w, r)
		return
	}
	a := &asked{Agent: r.Header.Get("X-Claude-Code-Agent-Id")}
	_ = json.Unmarshal(body, a)
	m.mu.Lock()
	m.all = append(m.all, a)
	a.n = len(m.all)
	m.mu.Unlock()
	s := m.answer(a)
	if s.status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"no"}}`)
		return
	}
	if !a.Stream {
		text, _ := json.Marshal(s.text)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%s}],`+
			`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":%d}}`, a.n, a.Model, text, s.in, s.out)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, rest string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest)
		w.(http.Flusher).Flush()
	}
	send("message_start", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,`+
		`"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, a.n, a.Model, s.in))
	i, stop := 0, "end_turn"
	if s.text != "" {
		send("content_block_start", fmt.Sprintf(`"index":%d,"content_block":{"type":"text","text":""}`, i))
		for _, piece := range strings.SplitAfter(s.text, " ") {
			text, _ := json.Marshal(piece)
			send("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"text_delta","text":%s}`, i, text))
			if s.slow {
				<-r.Context().Done()
				return
			}
			if s.cut {
				send("error", `"error":{"type":"overloaded_error","message":"no"}`)
				return
			}
		}
		send("content_block_stop", fmt.Sprintf(`"index":%d`, i))
		i++
	}
	for _, c := range s.calls {
		stop = "tool_use"
		input, _ := json.Marshal(c.input)
		send("content_block_start", fmt.Sprintf(`"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, i, c.id, c.name))
		send("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, i, input))
		send("content_block_stop", fmt.Sprintf(`"index":%d`, i))
		i++
	}
	send("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`, stop, s.out))
	send("message_stop", `"x":0`)
}
