package corpora

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// TestRequests puts each recorded conversation into Braid's words and asks it anew. What the
// provider sends must say the same as what the other project sent: system prompt, messages,
// calls with their arguments, results in their places, and tools.
func TestRequests(t *testing.T) {
	s := newStage(t)
	var counts table
	var mu sync.Mutex
	left := map[string]int{}
	t.Run("all", func(t *testing.T) {
		for i, x := range recorded(t) {
			if len(x.request) == 0 || x.status != 200 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", x.name(), i), func(t *testing.T) {
				t.Parallel()
				want, other := x.take(x.request)
				req, fits := request(want)
				if other != "" || !fits {
					mu.Lock()
					left[other]++
					mu.Unlock()
					return
				}
				answered := x
				if !x.stream {
					answered.status, answered.body, answered.kind = 400, []byte(`{}`), "application/json"
				}
				r, body := s.play(t.Context(), t, &answered, way{cut: -1}, req)
				if body == nil {
					if reason(requestExceptions, &x) == "" {
						t.Errorf("%s (%s, %s): not asked: %v", x.name(), x.api, x.model, r.Err)
					}
					counts.add(&x, false)
					return
				}
				have, other := x.take(body)
				diff := cmp.Diff(want, have, cmpopts.EquateEmpty())
				if other != "" {
					diff = "the provider sends " + other + "\n" + diff
				}
				counts.add(&x, diff == "")
				if diff != "" && reason(requestExceptions, &x) == "" {
					t.Errorf("%s (%s, %s, -recorded +asked):\n%s", x.name(), x.api, x.model, diff)
				}
			})
		}
	})
	t.Logf("asked as recorded:\n%s", &counts)
	sum := 0
	for why, n := range left {
		sum += n
		if n > 20 {
			t.Logf("left out %4d: %s", n, why)
		}
	}
	t.Logf("left out %d in all: other features than these, or histories that Braid never has", sum)
}

var toolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// request is a conversation in Braid's words; false for one that Braid never has.
func request(a asked) (*model.Request, bool) {
	req := &model.Request{Instructions: a.System, Options: model.Options{MaxTokens: 100}}
	for _, name := range a.Tools {
		if !toolNames.MatchString(name) {
			return nil, false
		}
		req.Tools = append(req.Tools, model.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	open := map[string]string{}
	for i, t := range a.Turns {
		m := event.Message{Role: event.Role(t.Role)}
		if want := []event.Role{event.RoleUser, event.RoleAssistant}[i%2]; m.Role != want {
			return nil, false
		}
		if i > 0 && a.Turns[i-1].Role == "assistant" && len(open) > 0 {
			for _, p := range t.Parts {
				if p.Kind == "result" {
					delete(open, p.ID)
				}
			}
			if len(open) > 0 {
				return nil, false
			}
		}
		names := calls(a.Turns[:i])
		for _, p := range t.Parts {
			b, ok := block(p, names)
			if !ok {
				return nil, false
			}
			if p.Kind == "call" {
				open[p.ID] = p.Name
			}
			m.Content = append(m.Content, b)
		}
		req.Messages = append(req.Messages, m)
	}
	n := len(a.Turns)
	return req, n > 0 && a.Turns[n-1].Role == "user" && len(open) == 0
}

// calls names the tools of the calls before.
func calls(turns []turn) map[string]string {
	out := map[string]string{}
	for _, t := range turns {
		for _, p := range t.Parts {
			if p.Kind == "call" {
				out[p.ID] = p.Name
			}
		}
	}
	return out
}

func block(p part, names map[string]string) (event.Block, bool) {
	switch p.Kind {
	case "text":
		if p.Sig != "" || strings.TrimSpace(p.Text) == "" {
			return nil, false
		}
		return &event.Text{Text: p.Text}, true
	case "call":
		if p.Sig != "" {
			return &event.ToolCall{ID: "call_" + p.ID, Name: p.Name, Args: json.RawMessage(p.Args), Signature: p.Sig}, false
		}
		return &event.ToolCall{ID: "call_" + p.ID, Name: p.Name, Args: json.RawMessage(p.Args)}, json.Valid([]byte(p.Args)) && p.Args[0] == '{'
	case "result":
		name, known := names[p.ID]
		return &event.ToolResult{Call: "call_" + p.ID, Name: name, Content: []event.Block{&event.Text{Text: p.Text}}}, known && p.Text != ""
	}
	return nil, false // signatures belong to their vendor, and files are compared elsewhere
}
