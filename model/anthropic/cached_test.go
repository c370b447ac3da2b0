package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// Over 40 turns each request begins with the bytes of the one before, up to its last cache point,
// and the cache reads all of it: with tools and without, with the vendor's own tools, and while
// instructions and tools change.
func TestThePrefixOf40TurnsIsCached(t *testing.T) {
	if race.On {
		t.Skip("make test runs it without the race detector, which makes it many times slower")
	}
	t.Parallel()
	spec := func(name string) model.ToolSpec {
		return model.ToolSpec{Name: name, Description: strings.Repeat("It does "+name+". ", 20), Schema: []byte(`{"type":"object","properties":{}}`)}
	}
	for name, tc := range map[string]struct {
		tools   []model.ToolSpec
		server  []model.ServerTool
		changes bool
	}{
		"plain":           {},
		"tools":           {tools: []model.ToolSpec{spec("a"), spec("b")}},
		"server tools":    {tools: []model.ToolSpec{spec("a")}, server: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.CodeExecution}}},
		"setups changing": {tools: []model.ToolSpec{spec("a")}, changes: true},
		"all":             {tools: []model.ToolSpec{spec("a")}, server: []model.ServerTool{{Kind: model.WebSearch}}, changes: true},
	} {
		for _, points := range []anthropic.CachePoints{anthropic.CacheAuto, anthropic.CacheExplicit} {
			t.Run(fmt.Sprint(name, " ", points), func(t *testing.T) {
				t.Parallel()
				turn := 0
				server := anthropictest.StartPreserved(func(*anthropictest.Told) []anthropictest.Part {
					parts := []anthropictest.Part{{Thinks: true, Text: "Hm."}}
					if len(tc.server) > 0 && turn%3 == 0 {
						id := fmt.Sprint("srvtoolu_", turn)
						parts = append(parts, anthropictest.Part{Raw: `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`},
							anthropictest.Part{Raw: `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`})
					}
					if len(tc.tools) > 0 && turn%2 == 0 {
						for range 1 + turn%25 {
							parts = append(parts, anthropictest.Part{Tool: "a"})
						}
						return parts
					}
					return append(parts, anthropictest.Part{Text: strings.Repeat("Words. ", 10)})
				})
				t.Cleanup(server.Close)
				m, err := anthropic.New(sonnet, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()), anthropic.Cache(points))
				if err != nil {
					t.Fatal(err)
				}
				req := &model.Request{Instructions: "Be brief.", Tools: tc.tools, Messages: []event.Message{said("Go.")}, Options: model.Options{ServerTools: tc.server}}
				if tc.changes {
					req.Setups = []model.Setup{{Instructions: req.Instructions, Tools: req.Tools}}
				}
				for ; turn < 40; turn++ {
					if tc.changes && turn%7 == 3 {
						req.Instructions = fmt.Sprintf("Be brief. It is %d o'clock.", turn)
						req.Tools = slices.Clone(tc.tools)
						if turn%2 == 0 {
							req.Tools = append(req.Tools, spec(fmt.Sprint("late", turn)))
						}
						req.Setups = append(req.Setups, model.Setup{From: len(req.Messages) - 1, Instructions: req.Instructions, Tools: req.Tools})
					}
					r := modeltest.Call(context.Background(), m, req)
					if r.Err != nil {
						t.Fatalf("turn %d: %v", turn, r.Err)
					}
					req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: r.Content}, reply(r.Content))
				}
				asked := server.Asked()
				caches := server.Caches()
				for i, c := range caches {
					if c.Points < 1 || c.Points > 4 {
						t.Fatalf("turn %d: %d points", i, c.Points)
					}
					if i > 0 && c.Read != caches[i-1].All {
						t.Errorf("turn %d: the cache reads %d of %d", i, c.Read, caches[i-1].All)
					}
					if i > 0 && !strings.HasPrefix(bare(asked[i].Body), bare(asked[i-1].Body)) {
						t.Fatalf("turn %d does not begin as the one before", i)
					}
				}
				if n := len(caches); n != 40 || caches[n-1].All == 0 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// bare is a request up to the end of its messages, without cache points.
func bare(body []byte) string {
	s := strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, "")
	var o struct {
		Messages json.RawMessage `json:"messages"`
	}
	_ = json.Unmarshal([]byte(s), &o)
	i := strings.Index(s, string(o.Messages))
	return s[:i+len(o.Messages)-1]
}

// What the stand-in's cache reads where the instructions change at the head, as models without
// changes between messages must be told: nothing behind the tools.
func TestTheCacheOfTheStandInMisses(t *testing.T) {
	t.Parallel()
	m, server := open(t, "claude-sonnet-5", nil, anthropictest.Text("one"), anthropictest.Text("two"), anthropictest.Text("three"))
	req := &model.Request{Instructions: "Old.", Messages: []event.Message{said("Go.")}}
	for i := range 3 {
		if i == 2 {
			req.Instructions = "New."
		}
		r := modeltest.Call(context.Background(), m, req)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: r.Content}, said("Go on."))
	}
	if c := server.Caches(); c[0].Read != 0 || c[1].Read == 0 || c[2].Read != 0 {
		t.Errorf("%+v", c)
	}
}
