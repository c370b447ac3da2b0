package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deadlyTool serves a tool "fatal" that calls kill and never answers. It returns the file for --mcp.
func deadlyTool(t *testing.T, kill func()) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "deadly", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "fatal", Description: "ends the process", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			kill()
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { go web.Close() }) // a call that never ends must not hold the test up
	file := filepath.Join(t.TempDir(), "mcp.json")
	write(t, file, `{"mcpServers":{"deadly":{"type":"http","url":"`+web.URL+`"}}}`)
	return file
}

// A tool ends the server, and the model calls it again each time. After three times the run ends as failed, the operator
// sees why, and the server and the conversation go on.
func TestAToolThatEndsTheServer(t *testing.T) {
	t.Parallel()
	alive := make(chan *site, 10) // the run goes on before startServer returns
	var calls atomic.Int32
	tools := deadlyTool(t, func() {
		calls.Add(1)
		_ = (<-alive).cmd.Process.Kill()
	})
	script := filepath.Join(t.TempDir(), "script.yaml")
	write(t, script, "rules:\n  - when: {user: end it, round: any}\n    reply:\n      - call: deadly___fatal\n        args: {}\n  - when: {round: any}\n    reply: I am here.\n")
	dir := filepath.Join(t.TempDir(), "data")
	start := func() *site {
		next := startServer(t, dir, "--mcp", tools, "--model", "demo:"+script, "--log", "json")
		alive <- next
		return next
	}
	here := start()
	conv, _ := here.json(201, "POST", "/v1/conversations", `{}`)["id"].(string)
	runs := "/v1/conversations/" + conv + "/runs"
	run, _ := here.json(202, "POST", runs, `{"user_input":"end it"}`, "Prefer", "respond-async")["id"].(string)
	for range 3 {
		here.wait()
		here = start()
	}

	frames, err := io.ReadAll(here.ask("GET", runs+"/"+run+"/stream", "").Body)
	if err != nil || !strings.Contains(string(frames), "RUN_POISONED") {
		t.Fatalf("the run's stream does not say why it failed: %v\n%s", err, frames)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("the tool was called %d times, want 3", n)
	}
	next := here.json(200, "POST", runs, `{"user_input":"Hello"}`, "Accept", "application/json")
	if next["status"] != "completed" || next["result"] != "I am here." {
		t.Errorf("the conversation does not go on: %v", next)
	}

	// What the operator sees.
	metrics, err := io.ReadAll(here.ask("GET", "/metrics", "").Body)
	if err != nil || !strings.Contains(string(metrics), "\nbraid_runs_poisoned_total 1\n") {
		t.Errorf("the metrics do not count the run: %v", err)
	}
	if err := here.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := here.wait(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	named := false
	for line := range strings.Lines(here.log.String()) {
		named = named || strings.Contains(line, `"level":"ERROR"`) && strings.Contains(line, run) && strings.Contains(line, "run_poisoned")
	}
	if !named {
		t.Errorf("no error in the log names the run %s:\n%s", run, here.log)
	}
}
