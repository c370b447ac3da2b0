package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
)

// obedient is a model that calls the tool that its user names, with the arguments after the name, and repeats the result.
type obedient struct{}

func (obedient) Info() model.Info { return model.Info{Name: "test:obedient", Simulated: true} }

func (obedient) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	last := r.Messages[len(r.Messages)-1].Content
	return func(yield func(model.Chunk, error) bool) {
		for _, b := range last {
			if b, ok := b.(*event.ToolResult); ok {
				_ = yield(model.Chunk{Kind: model.ChunkText, Text: "told: " + event.TextOf(b.Content)}, nil) &&
					yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
				return
			}
		}
		name, args, _ := strings.Cut(event.TextOf(last), " ")
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: name}, nil) &&
			yield(model.Chunk{Kind: model.ChunkCallInput, ID: "c", Text: args}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}

// talkative is a server of the official SDK that uses all that the protocol has.
func talkative(seen <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "talkative", Version: "1"}, nil)
	free := json.RawMessage(`{"type":"object"}`)
	says := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add := func(name string, h mcp.ToolHandler) { s.AddTool(&mcp.Tool{Name: name, InputSchema: free}, h) }
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says("I am new"), nil })
		return says("grew"), nil
	})
	add("slow", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Message: "half way", Progress: 1, Total: 2,
		}); err != nil {
			return nil, err
		}
		select {
		case <-seen:
			r := says("ready")
			r.Meta = mcp.Meta{"example.com/view": "seven"}
			return r, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	ask := func(name string, p *mcp.ElicitParams) {
		add(name, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			a, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult)
			if !ok && r.Session.InitializeParams().ProtocolVersion >= "2026" {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": p}}, nil
			}
			if !ok {
				var err error
				if a, err = r.Session.Elicit(ctx, p); err != nil {
					return nil, err
				}
			}
			return says(fmt.Sprint(a.Action, " ", a.Content["city"])), nil
		})
	}
	ask("form", &mcp.ElicitParams{Message: "Which city?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)})
	ask("visit", &mcp.ElicitParams{Mode: "url", Message: "Pay first.", URL: "https://pay.example/7", ElicitationID: "7"})
	add("sample", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "tell me all"}}}} //nolint:staticcheck // a server may ask for it still
		if r.Session.InitializeParams().ProtocolVersion >= "2026" {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"s": p}}, nil
		}
		_, err := r.Session.CreateMessage(ctx, p) //nolint:staticcheck // a server may ask for it still
		return says(fmt.Sprint("told me: ", err)), nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///notes.md", Name: "notes"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "remember the milk"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet the guests."}}}}, nil
	})
	return s
}

// A tenant's server uses all of the protocol: lists that change, progress, resources, prompts and questions, which wait across
// a restart. Its wish to use a model is refused.
func TestMCPServersOfTenantsUseTheWholeProtocol(t *testing.T) {
	t.Parallel()
	eachDatabase(t, "whole_protocol", func(t *testing.T, store serve.Store, _ func() string) {
		wholeProtocol(t, store, &mcp.StreamableHTTPOptions{Stateless: true}, true)
	})
	t.Run("the older era", func(t *testing.T) {
		t.Parallel()
		wholeProtocol(t, serve.Folder(t.TempDir()), nil, false)
	})
}

func wholeProtocol(t *testing.T, store serve.Store, how *mcp.StreamableHTTPOptions, restarts bool) {
	t.Helper()
	seen := make(chan struct{})
	server := talkative(seen)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, how))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	u, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	start := func() *signInSite {
		pool, err := toolservers.New(toolservers.Options{AllowHosts: []string{u.Host}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		f, err := agents.New(t.Context(), agents.Options{Model: obedient{}, TenantServers: pool})
		if err != nil {
			t.Fatal(err)
		}
		return &signInSite{log: &buffer{}, site: open(t, serve.Options{Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}})}
	}
	s := start()
	s.must("", "POST", "/v1/admin/tenants", `{"id":"acme"}`, "id")
	key := s.must("", "POST", "/v1/admin/tenants/acme/keys", `{"user":"ann","scopes":["read","write"]}`, "token")
	s.must("", "POST", "/v1/admin/tenants/acme/mcp-servers", `{"id":"lab","type":"http","url":"`+web.URL+`"}`, "id")
	conv := s.must(key, "POST", "/v1/conversations", "{}", "id")
	for _, c := range []struct{ input, want string }{
		{"lab___grow {}", "told: grew"},
		{"lab___grown {}", "told: I am new"}, // a later run has the new tool
		{"lab___list_resources {}", "[resource file:///notes.md"},
		{`lab___read_resource {"uri":"file:///notes.md"}`, "remember the milk"},
		{"lab___list_prompts {}", "[prompt greet]"},
		{`lab___get_prompt {"name":"greet"}`, "Greet the guests."},
		{"lab___sample {}", "refused"},
	} {
		log := s.runs(key, conv, c.input)
		for tries := 0; strings.HasPrefix(c.input, "lab___grown") && !strings.Contains(log, c.want) && tries < 2000; tries++ {
			<-time.After(5 * time.Millisecond) // the server's notice is on its way
			log = s.runs(key, conv, c.input)
		}
		if !strings.Contains(log, c.want) {
			t.Errorf("%s: %q is not in %s", c.input, c.want, log[max(0, len(log)-3000):])
		}
	}
	if progress := s.streams(key, conv, "lab___slow {}", "half way", sync.OnceFunc(func() { close(seen) })); !strings.Contains(progress, "half way (1/2)") {
		t.Errorf("no progress in %s", progress)
	} else if !strings.Contains(progress, `"_meta":{"example.com/view":"seven"}`) {
		t.Errorf("no _meta in %s", progress)
	}
	for _, c := range []struct{ tool, answer, want string }{
		{"form", `{"action":"accept","content":{"city":"Lisbon"}}`, "told: accept Lisbon"},
		{"form", `{"action":"decline"}`, "told: decline"},
		{"visit", `{"action":"accept"}`, "told: accept"},
		{"visit", `{"action":"cancel"}`, "told: cancel"},
	} {
		c2 := s.must(key, "POST", "/v1/conversations", "{}", "id")
		s.runs(key, c2, "lab___"+c.tool+" {}")
		if restarts {
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
			s = start()
		}
		_, answer := s.get(key, "GET", "/v1/conversations/"+c2+"/questions", "")
		var list struct {
			Data []struct {
				ID      string `json:"question_id"`
				Name    string `json:"name"`
				Payload struct {
					Server, Mode, URL string
				} `json:"payload"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Data) != 1 || list.Data[0].Name != "mcp_elicitation" ||
			list.Data[0].Payload.Server != "lab" || (list.Data[0].Payload.URL != "") != (c.tool == "visit") {
			t.Fatalf("%s", answer)
		}
		if status, answer := s.get(key, "POST", "/v1/conversations/"+c2+"/questions/"+list.Data[0].ID, `{"answer":{"action":"obey"}}`); status != 422 && status != 400 {
			t.Errorf("%d %s", status, answer)
		}
		if status, answer := s.get(key, "POST", "/v1/conversations/"+c2+"/questions/"+list.Data[0].ID, `{"answer":`+c.answer+`}`); status >= 300 {
			t.Fatalf("%d %s", status, answer)
		}
		s.wait(t, key, c2, c.want)
	}
}

// streams starts a run and reads its stream. It calls then when a line has the text.
func (s *signInSite) streams(token, conv, input, text string, then func()) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"user_input": input})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v1/conversations/"+conv+"/runs", strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var all strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			then()
		}
	}
	return all.String()
}
