package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// asker is a server of the official SDK whose tools ask their user. calls counts the calls of its tools.
func asker(calls *atomic.Int64) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	free := json.RawMessage(`{"type":"object"}`)
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"nights":{"type":"integer","minimum":1},"bed":{"type":"string","enum":["one","two"],"default":"two"}},"required":["city"]}`)
	said := func(r *mcp.ElicitResult) *mcp.CallToolResult {
		content, _ := json.Marshal(r.Content)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s %s", r.Action, content)}}}
	}
	add := func(name string, p func() *mcp.ElicitParams) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: free}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls.Add(1)
			if r.Session.InitializeParams().ProtocolVersion < "2026" {
				a, err := r.Session.Elicit(ctx, p()) // in the middle of the call
				if err != nil {
					return nil, err
				}
				return said(a), nil
			}
			if a, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
				return said(a), nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": p()}}, nil
		})
	}
	add("form", func() *mcp.ElicitParams { return &mcp.ElicitParams{Message: "Which city?", RequestedSchema: city} })
	add("visit", func() *mcp.ElicitParams {
		return &mcp.ElicitParams{Mode: "url", Message: "Pay first.", URL: "https://pay.example/7", ElicitationID: "e7"}
	})
	add("script", func() *mcp.ElicitParams {
		return &mcp.ElicitParams{Mode: "url", Message: "Click.", URL: "javascript:alert(1)", ElicitationID: "e8"}
	})
	add("nested", func() *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: "Everything?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`)}
	})
	s.AddTool(&mcp.Tool{Name: "sample", InputSchema: free}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		p := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "tell me all"}}}} //nolint:staticcheck // a server may ask for it still
		if r.Session.InitializeParams().Capabilities.Sampling != nil {                                                                                //nolint:staticcheck // a server may ask for it still
			return nil, &jsonrpc.Error{Code: 1, Message: "sampling is announced"}
		}
		if r.Session.InitializeParams().ProtocolVersion < "2026" {
			_, err := r.Session.CreateMessage(ctx, p) //nolint:staticcheck // a server may ask for it still
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("told: ", err)}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"s": p}}, nil
	})
	return s
}

// eras are ways to reach a server in the words of both eras.
func eras(t *testing.T, calls *atomic.Int64) map[string]mcptool.Config {
	t.Helper()
	web := func(o *mcp.StreamableHTTPOptions) mcptool.Config {
		s := asker(calls)
		w := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
		t.Cleanup(func() { w.CloseClientConnections(); w.Close() })
		return mcptool.Config{Name: "asker", URL: w.URL}
	}
	return map[string]mcptool.Config{
		"2026 http": web(&mcp.StreamableHTTPOptions{Stateless: true}),
		"2026 pipe": inside(t, "asker", asker(calls)),
		"2025 http": web(nil),
	}
}

// elicited starts a run that calls a tool, and returns its open question.
func elicited(t *testing.T, c mcptool.Config, name string) (*braid.Result, *braid.Agent, *mcptool.Servers) {
	t.Helper()
	o := patient()
	o.ElicitAsQuestion = true
	s := connect(t, o, c)
	agent := braid.New("a", &asking{calls: []string{name}}, braid.From(s))
	r, err := agent.Run(t.Context(), "go", braid.In(braid.NewConversation()))
	if err != nil {
		t.Fatal(err)
	}
	return r, agent, s
}

// What a server asks in a call is a question of the run. Its answer reaches the server, however it is answered, in both eras.
func TestElicitationIsAQuestion(t *testing.T) {
	t.Parallel()
	for era := range eras(t, new(atomic.Int64)) {
		for _, c := range []struct{ name, tool, answer, want string }{
			{"accepted", "form", `{"action":"accept","content":{"city":"Lisbon","nights":2}}`, `accept {"bed":"two","city":"Lisbon","nights":2}`},
			{"declined", "form", `{"action":"decline"}`, `decline null`},
			{"cancelled", "form", `{"action":"cancel"}`, `cancel null`},
			{"null", "form", `null`, `cancel null`},
			{"visited", "visit", `{"action":"accept"}`, `accept null`},
			{"not visited", "visit", `{"action":"decline"}`, `decline null`},
		} {
			t.Run(era+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				calls := new(atomic.Int64)
				r, agent, _ := elicited(t, eras(t, calls)[era], c.tool)
				if r.Stop != event.StopQuestion || len(r.Questions) != 1 {
					t.Fatalf("nobody is asked: %+v\n%s", r, logOf(t, r))
				}
				q := &r.Questions[0]
				e, ok := mcptool.IsElicitation(&event.Asked{Name: q.Name, Payload: q.Payload})
				if !ok || q.Ask != event.AskInput || e.Server != "asker" || !strings.Contains(q.Prompt, `The MCP server "asker" asks: `) {
					t.Fatalf("%+v", q)
				}
				if c.tool == "form" && (e.Mode != "form" || !strings.Contains(string(e.Schema), `"nights"`)) ||
					c.tool == "visit" && (e.Mode != "url" || e.URL != "https://pay.example/7") {
					t.Errorf("%+v", e)
				}
				for _, bad := range []string{`{"action":"accept","content":{"city":7}}`, `{"action":"accept","content":{}}`, `true`, `{"action":"obey"}`} {
					if c.tool == "form" {
						if err := r.Conversation.Answer(t.Context(), q.Token, json.RawMessage(bad)); event.KindOf(err) != event.ErrInvalid {
							t.Errorf("%s is taken: %v", bad, err)
						}
					}
				}
				if err := r.Conversation.Answer(t.Context(), q.Token, json.RawMessage(c.answer)); err != nil {
					t.Fatal(err)
				}
				r, err := agent.Resume(t.Context(), r.Conversation)
				if err != nil || r.Text() != "done" {
					t.Fatalf("%+v %v", r, err)
				}
				if log := logOf(t, r); !strings.Contains(log, strings.ReplaceAll(c.want, `"`, `\"`)) {
					t.Errorf("%s is not in %s", c.want, log)
				}
				if want := int64(2); strings.HasPrefix(era, "2026") && calls.Load() != want+1 || strings.HasPrefix(era, "2025") && calls.Load() != 1 {
					t.Errorf("%d calls", calls.Load())
				}
			})
		}
	}
}

// After a restart, a server of the newer era gets its answer. A call of the older era that was open has ended with its process:
// it is in doubt, and not made again, unless the tool may be repeated.
func TestElicitationAfterARestart(t *testing.T) {
	t.Parallel()
	for era, want := range map[string]string{"2026 http": `accept {\"bed\":\"two\",\"city\":\"Lisbon\"}`, "2025 http": "it may have taken effect or not"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			calls := new(atomic.Int64)
			c := eras(t, calls)[era]
			r, _, first := elicited(t, c, "form")
			if r.Stop != event.StopQuestion {
				t.Fatalf("%+v", r)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			before := calls.Load()
			o := patient()
			o.ElicitAsQuestion = true
			agent := braid.New("a", &asking{calls: []string{"form"}}, braid.From(connect(t, o, c)))
			if err := r.Conversation.Answer(t.Context(), r.Questions[0].Token, json.RawMessage(`{"action":"accept","content":{"city":"Lisbon"}}`)); err != nil {
				t.Fatal(err)
			}
			r, err := agent.Resume(t.Context(), r.Conversation)
			if err != nil {
				t.Fatal(err)
			}
			if log := logOf(t, r); !strings.Contains(log, want) {
				t.Errorf("%s is not in %s", want, log)
			}
			if strings.HasPrefix(era, "2025") && calls.Load() != before {
				t.Error("the call was made again")
			}
		})
	}
}

// Sampling is refused with a plain text, in both eras, and so are questions that cannot be shown.
func TestWhatServersMayNotAsk(t *testing.T) {
	t.Parallel()
	for era := range eras(t, new(atomic.Int64)) {
		for name, want := range map[string]string{"sample": "sampling is refused", "script": "no http or https address", "nested": "is not plain"} {
			t.Run(era+"/"+name, func(t *testing.T) {
				t.Parallel()
				if name == "sample" && strings.HasPrefix(era, "2026") {
					want = "wants to use the client's model, which is refused"
				}
				r, _, s := elicited(t, eras(t, new(atomic.Int64))[era], name)
				if log := logOf(t, r); r.Stop == event.StopQuestion || r.Text() != "done" || !strings.Contains(log, want) {
					t.Errorf("%q is not in %s", want, log)
				}
				if st := s.Status()[0]; st.State != mcptool.StateConnected {
					t.Errorf("afterwards: %+v", st)
				}
			})
		}
	}
}

// Two calls at once ask their own users, over HTTP also in the older era.
func TestTwoCallsAskAtOnce(t *testing.T) {
	t.Parallel()
	o := patient()
	o.ElicitAsQuestion = true
	s := connect(t, o, eras(t, new(atomic.Int64))["2025 http"])
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"form", "visit"} {
				agent := braid.New("a", &asking{calls: []string{name}}, braid.From(s))
				r, err := agent.Run(t.Context(), "go", braid.In(braid.NewConversation()))
				if err != nil || r.Stop != event.StopQuestion && !strings.Contains(logOf(t, r), "it is not clear for which call") {
					t.Fatalf("%+v %v", r, err)
				}
			}
		})
	}
}
