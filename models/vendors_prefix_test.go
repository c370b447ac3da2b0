package models

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// marked are the marks of what to cache, and the list that a text with one stands in.
var (
	marked   = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)
	messages = []byte(`"messages":[`)
)

// Vendors cache prompts by their beginning. So at every vendor with a row, over 40 turns of
// thoughts, tools and their results, each request's messages begin with the bytes of all
// messages of the request before.
func TestEveryVendorsPrefixStaysOverFortyTurns(t *testing.T) {
	t.Parallel()
	rows := DefaultVendors().rows
	if len(rows) < 12 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		tools := row.Tools == nil || *row.Tools
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan []byte, 1)
			turn := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- body
				w.Header().Set("Content-Type", "text/event-stream")
				turn++
				call := fmt.Sprintf(`"tool_calls":[{"index":0,"id":"c%08d","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]`, turn)
				if !tools {
					call = `"content":" It is 3."`
				}
				for _, delta := range []string{
					`"reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"c2ln","index":0}]`, `"content":"I add."`, call,
				} {
					fmt.Fprintf(w, "data: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n", delta)
				}
				fmt.Fprint(w, "data: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			t.Cleanup(server.Close)
			m, err := openIn(env("K", "k"), row.Name+":"+cmp.Or(row.Model, "qwen3")+"?key=K&base="+server.URL+"/v1")
			if err != nil {
				t.Fatal(err)
			}
			req := &model.Request{Instructions: "Be brief."}
			if tools {
				req.Tools = []model.ToolSpec{{Name: "add", Schema: []byte(`{"type":"object"}`)}}
			}
			history := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Begin."}}}}
			var before []byte
			for n := range 40 {
				req.Messages = slices.Clip(history)
				r := modeltest.Call(t.Context(), m, req)
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				body := marked.ReplaceAll(<-bodies, nil)
				at := bytes.Index(body, messages)
				if at < 0 || !bytes.HasPrefix(body[at:], before) {
					t.Fatalf("turn %d: %s\ndoes not begin with %s", n, body, before)
				}
				before = bytes.Clone(body[at : at+end(body[at:])])
				result := event.Message{Role: event.RoleUser}
				for _, b := range r.Content {
					if c, ok := b.(*event.ToolCall); ok {
						result.Content = append(result.Content, &event.ToolResult{Call: c.ID, Name: c.Name, Content: []event.Block{&event.Text{Text: "3"}}})
					}
				}
				if tools != (len(result.Content) == 1) {
					t.Fatalf("turn %d: %d calls", n, len(result.Content))
				}
				if n%3 == 0 || !tools {
					result.Content = append(result.Content, &event.Text{Text: "Go on."})
				}
				history = append(history, event.Message{Role: event.RoleAssistant, Content: r.Content}, result)
			}
		})
	}
}

// end is where the last message ends in a body that begins with its messages.
func end(body []byte) int {
	depth, quoted := 0, false
	for i := len(messages) - 1; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(body)
}
