package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/service"
)

// An MCP tool that OpenAI's models cannot take does not stop a server or a run: it is left out, the log and the first frame
// report it, and other models get it.
func TestAToolThatOpenAICannotBeTold(t *testing.T) {
	t.Parallel()
	vendor := openaitest.Start(openaitest.Text(openaitest.Chat, "One."), openaitest.Text(openaitest.Chat, "Two."))
	defer vendor.Close()
	tools := mcp.NewServer(&mcp.Implementation{Name: "odd"}, nil)
	add := func(name, schema string) {
		tools.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
			})
	}
	const odd = `{"type":"object","properties":{"a":{"enum":[]}}}`
	add("fine", `{"type":"object"}`)
	add("deep", odd)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	defer web.Close()
	p, _, _ := testProcess(t, map[string]string{"OPENAI_API_KEY": openaitest.Key, "OPENAI_BASE_URL": vendor.URL})
	p.openRef = nil
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"odd": {"type": "http", "url": %q}}}`, web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines lockedBuffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	a, err := p.openAgents(t.Context(), &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "openai:gpt-5.4"}, AgentSettings: conf.AgentSettings{Tools: "none", MCP: file},
	}}, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	store := &journal.Memory{}
	s, err := service.New(service.Options{Journal: store, Rows: &service.MemoryRows{}, Agent: a.Agent, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	// run returns the tools of a run, and those that were left out.
	run := func(tenant, model string) (begun *event.RunStarted) {
		t.Helper()
		who := service.Principal{Tenant: tenant, User: "ann"}
		conv, err := s.CreateConversation(t.Context(), who, service.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		started, err := s.StartRun(t.Context(), who, conv.ID, service.RunRequest{Input: "go", Model: model})
		if err != nil {
			t.Fatal(err)
		}
		over := false
		until(t, "the run ends", func() bool {
			events, err := store.Read(t.Context(), conv.ID, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				switch b := e.Body.(type) {
				case *event.RunStarted:
					begun = b
				case *event.RunEnded:
					if b.Status != event.RunCompleted {
						t.Errorf("%s ended as %s: %v", started.Run.ID, b.Status, b.Err)
					}
					over = true
				}
			}
			return over
		})
		return begun
	}
	skipped := func(b *event.RunStarted) (names []string) {
		for _, one := range b.Servers[0].Skipped {
			names = append(names, one.Tool)
		}
		return names
	}
	b := run("default", "")
	if !slices.Equal(b.Tools, []string{"odd___fine"}) || !slices.Equal(skipped(b), []string{"odd___deep"}) {
		t.Errorf("a run of OpenAI's begins with %q, without %+v", b.Tools, b.Servers)
	}
	if b := run("other", "demo:assistant"); !slices.Equal(b.Tools, []string{"odd___deep", "odd___fine"}) || len(skipped(b)) > 0 {
		t.Errorf("another model's run begins with %q, without %+v", b.Tools, b.Servers)
	}
	add("later", odd)
	until(t, "the server tells of three tools", func() bool { return len(a.mcp.Tools()) == 3 })
	b = run("default", "")
	if !slices.Equal(b.Tools, []string{"odd___fine"}) || !slices.Equal(skipped(b), []string{"odd___deep", "odd___later"}) {
		t.Errorf("after the list has changed a run begins with %q, without %+v", b.Tools, b.Servers)
	}
	for _, r := range vendor.Asked() {
		if bytes.Contains(r.Body, []byte("deep")) || bytes.Contains(r.Body, []byte("later")) || !bytes.Contains(r.Body, []byte("odd___fine")) {
			t.Errorf("OpenAI was asked with %s", r.Body)
		}
	}
	for _, name := range []string{"deep", "later"} {
		if n := strings.Count(lines.String(), "tool="+name); n != 1 {
			t.Errorf("the log tells %d times of %s: %s", n, name, lines.String())
		}
	}
}
