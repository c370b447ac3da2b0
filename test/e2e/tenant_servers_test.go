package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// programEnv makes this test program an MCP server on its standard input and output.
const programEnv = "BRAID_E2E_PROGRAM"

// serveProgram is the MCP server of type stdio that the operator lists. It ends with its input.
func serveProgram() int {
	server := mcp.NewServer(&mcp.Implementation{Name: "program", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "pid", Description: "Says what runs it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return toolText(fmt.Sprintf("program %s, token %q", os.Getenv(programEnv), os.Getenv("BRAID_TOKEN"))), nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func toolText(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A tenant's server of type sse and its program of type stdio work in one run of the built server.
// The token of the run reaches the sse server only. A program that the operator does not list is
// refused.
func TestServersOfTypeSSEAndStdio(t *testing.T) {
	t.Parallel()
	office := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1"}, nil)
	office.AddTool(&mcp.Tool{Name: "who", Description: "Says who asks.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return toolText("a message from " + r.Session.InitializeParams().ClientInfo.Name), nil
		})
	var mu sync.Mutex
	var headers []string
	handler := mcp.NewSSEHandler(func(r *http.Request) *mcp.Server {
		mu.Lock()
		defer mu.Unlock()
		headers = append(headers, r.Header.Get("Authorization"))
		return office
	}, nil)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs, script := filepath.Join(dir, "programs.json"), filepath.Join(dir, "script.yaml")
	list, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"clock": map[string]any{"command": self, "env": map[string]string{programEnv: "listed"}}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, programs, string(list))
	write(t, script, "rules:\n  - when: {round: 1}\n    reply:\n      - call: office___who\n        args: {}\n      - call: clock___pid\n        args: {}\n"+
		"  - when: {round: any}\n    reply: Both have answered.\n")
	s := startServer(t, filepath.Join(dir, "data"), "--model", "demo:"+script, "--allow-host", "127.0.0.1", "--tenant-programs", programs)
	const at = "/v1/admin/tenants/default/mcp-servers"
	s.json(201, "POST", at, `{"id":"office","type":"sse","url":"`+web.URL+`","required":true,"headers_template":{"Authorization":"Bearer ${office_token}"}}`)
	s.json(201, "POST", at, `{"id":"clock","type":"stdio","program":"clock","required":true}`)
	refused := s.json(422, "POST", at, `{"id":"shell","type":"stdio","program":"/bin/sh"}`)
	if text := fmt.Sprint(refused); !strings.Contains(text, "clock") || !strings.Contains(text, "MCP_SERVER_INVALID") {
		t.Errorf("refused as %s", text)
	}
	conv, _ := s.json(201, "POST", "/v1/conversations", `{}`)["id"].(string)
	run := s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Ask both.","tokens":{"office_token":"canary-office"}}`,
		"Accept", "application/json")
	if run["status"] != "completed" || run["result"] != "Both have answered." {
		t.Fatalf("the run is %v", run)
	}
	used := fmt.Sprint(s.json(200, "GET", "/v1/admin/tenants/default/tools?conversation="+conv, ""))
	for _, want := range []string{"a message from ", `program listed, token ""`, "office___who", "clock___pid"} {
		if !strings.Contains(used, want) {
			t.Errorf("the tool log lacks %s: %s", want, used)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(headers) == 0 || headers[0] != "Bearer canary-office" {
		t.Errorf("the sse server got %q", headers)
	}
	if all := used + s.log.String(); strings.Contains(all, "canary-office") {
		t.Errorf("the token is shown: %s", all)
	}
}
