package corpora

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	all := recorded(t)
	s := newStage(t)
	var counts table
	var mu sync.Mutex
	left, differs := map[string]int{}, map[string]string{}
	t.Run("all", func(t *testing.T) {
		for i, x := range all {
			if len(x.request) == 0 || x.status != 200 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", x.name(), i), func(t *testing.T) {
				t.Parallel()
				want, other := x.take(x.request)
				req, why := request(x.api, want)
				if other == "" {
					other = why
				}
				if other != "" {
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
					counts.add(&x, false)
					mu.Lock()
					differs[x.name()] = "not asked"
					mu.Unlock()
					if reason(requestExceptions, &x) == "" {
						t.Errorf("%s (%s, %s): not asked: %v", x.name(), x.api, x.model, r.Err)
					}
					return
				}
				have, other := x.take(body)
				allow(&x, &want, &have)
				diff := cmp.Diff(want, have, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(tool{}, part{}))
				if other != "" {
					diff = "the provider sends " + other + "\n" + diff
				}
				counts.add(&x, diff == "")
				if diff == "" {
					return
				}
				mu.Lock()
				differs[x.name()] = diff
				mu.Unlock()
				if reason(requestExceptions, &x) == "" {
					t.Errorf("%s (%s, %s, -recorded +asked):\n%s", x.name(), x.api, x.model, diff)
				}
			})
		}
	})
	t.Logf("asked as recorded:\n%s", &counts)
	sum := 0
	for _, why := range slices.Sorted(maps.Keys(left)) {
		sum += left[why]
		if left[why] > 20 {
			t.Logf("left out %4d: %s", left[why], why)
		}
	}
	t.Logf("left out %d in all: other features than these, or histories that Braid never has", sum)
	reasons(t, requestExceptions, differs)
	stale(t, requestExceptions, differs)
}

// allow takes away what a provider may say otherwise in every request.
func allow(x *exchange, want, have *asked) {
	if want.Settings.MaxTokens == 0 {
		have.Settings.MaxTokens = 0 // the provider has a bound of its own
	}
	// Nova calls tools with greedy decoding, as AWS recommends (model/bedrock/request.go).
	if strings.Contains(x.model, "amazon.nova") && want.Settings.Temperature == "" && have.Settings.Temperature == "0" {
		have.Settings.Temperature = ""
	}
	for i := range min(len(want.Tools), len(have.Tools)) {
		w, h := &want.Tools[i], &have.Tools[i]
		w.Description, h.Description = strings.TrimSpace(w.Description), strings.TrimSpace(h.Description)
		// What a vendor's form of schemas cannot say stands below the description.
		if rest, ok := strings.CutPrefix(h.Description, w.Description); ok && strings.Contains(rest, "parts of its schema hold as well") {
			h.Description = w.Description
		}
	}
}

var toolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// request is a conversation in Braid's words, or the reason why Braid never has it.
func request(from api, a asked) (*model.Request, string) {
	req := &model.Request{Instructions: a.System}
	req.Options, req.ToolChoice = a.Settings.options()
	for i := range a.Tools {
		if !toolNames.MatchString(a.Tools[i].Name) {
			return nil, "a tool's name"
		}
		req.Tools = append(req.Tools, a.Tools[i].spec())
	}
	open := map[string]string{}
	for i, t := range a.Turns {
		m := event.Message{Role: event.Role(t.Role)}
		if want := []event.Role{event.RoleUser, event.RoleAssistant}[i%2]; m.Role != want {
			return nil, "roles that do not take turns"
		}
		if i > 0 && a.Turns[i-1].Role == "assistant" && len(open) > 0 {
			for _, p := range t.Parts {
				if p.Kind == "result" {
					delete(open, p.ID)
				}
			}
			if len(open) > 0 {
				return nil, "calls without results"
			}
		}
		names := calls(a.Turns[:i])
		for _, p := range t.Parts {
			b, ok := block(from, p, names)
			if !ok {
				return nil, "a signature, a thought or an empty " + p.Kind
			}
			if p.Kind == "call" {
				open[p.ID] = p.Name
			}
			m.Content = append(m.Content, b)
		}
		req.Messages = append(req.Messages, m)
	}
	n := len(a.Turns)
	if n == 0 || a.Turns[n-1].Role != "user" || len(open) > 0 {
		return nil, "a conversation that does not end with the user"
	}
	return req, ""
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

func block(from api, p part, names map[string]string) (event.Block, bool) {
	sig := p.Sig
	switch {
	case sig == "":
	case from == geminiAPI:
		sig = "gemini." + sig // the mark of the provider before its own signatures
	case from == chatAPI || from == responsesAPI:
		return nil, false
	}
	switch p.Kind {
	case "text":
		return &event.Text{Text: p.Text, Signature: sig}, strings.TrimSpace(p.Text) != ""
	case "thinking":
		return &event.Thinking{Text: p.Text, Signature: sig}, sig != ""
	case "call":
		return &event.ToolCall{ID: "call_" + p.ID, Name: p.Name, Args: json.RawMessage(p.Args), Signature: sig}, json.Valid([]byte(p.Args)) && p.Args[0] == '{'
	case "result":
		name, known := names[p.ID]
		return &event.ToolResult{Call: "call_" + p.ID, Name: name, Content: []event.Block{&event.Text{Text: p.Text}}}, known && p.Text != ""
	case "image":
		return &event.Image{MIME: p.MIME, Data: p.file}, len(p.file) > 0
	}
	return nil, false
}
