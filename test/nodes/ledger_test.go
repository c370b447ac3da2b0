//go:build unix

package nodes

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ledger is the outside world: an MCP server in the test's own process, which is never killed. It records what each
// tool did.
type ledger struct {
	url string
	// took is how long a tool takes after it has acted.
	took func(tool string) time.Duration

	mu      sync.Mutex
	effects map[effect]int
	changed *sync.Cond
	// busy counts the calls in progress, by tool.
	busy map[string]int
}

// effect is what a call did. The mark comes from the message that asked for it.
type effect struct{ tool, mark, part string }

type call struct {
	Mark string `json:"mark"`
	Part string `json:"part"`
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{effects: map[effect]int{}, busy: map[string]int{}, took: func(string) time.Duration { return 0 }}
	l.changed = sync.NewCond(&l.mu)
	server := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	for name, hints := range map[string]*mcp.ToolAnnotations{
		"pay":  {},                     // must not be repeated
		"note": {IdempotentHint: true}, // may be written again
		"look": {ReadOnlyHint: true},
	} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: name + " in the ledger", Annotations: hints},
			func(_ context.Context, _ *mcp.CallToolRequest, in call) (*mcp.CallToolResult, any, error) {
				l.act(effect{name, in.Mark, in.Part})
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done " + in.Mark}}}, nil, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { go web.Close() }) // do not wait for calls in progress
	l.url = web.URL
	return l
}

// act performs a tool's effect at once; the answer takes its time.
func (l *ledger) act(e effect) {
	l.mu.Lock()
	l.effects[e]++
	l.busy[e.tool]++
	wait := l.took(e.tool)
	l.changed.Broadcast()
	l.mu.Unlock()
	time.Sleep(wait)
	l.mu.Lock()
	l.busy[e.tool]--
	l.changed.Broadcast()
	l.mu.Unlock()
}

// count returns how often an effect occurred.
func (l *ledger) count(e effect) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.effects[e]
}

// until waits until n calls of a tool are in progress.
func (l *ledger) until(tool string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy[tool] < n {
		l.changed.Wait()
	}
}

// config writes the MCP file for the servers.
func (l *ledger) config(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"ledger": map[string]any{
		"type": "http", "url": l.url, "headers": map[string]string{"Authorization": "Bearer " + plantedHeader},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
