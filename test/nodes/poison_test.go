//go:build unix

package nodes

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// supervised is a node that is restarted whenever it is killed, until the test ends.
type supervised struct {
	mu    sync.Mutex
	now   *node
	start func() *node
}

// kill kills the node's process and starts another one.
func (s *supervised) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.now.cmd.Process.Kill()
	<-s.now.ended
	s.now = s.start()
}

func (s *supervised) node() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// A tool kills every server that calls it, and the model calls it again each time. After three times its run fails.
// All three servers and the conversation continue.
func TestAToolThatEndsServers(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	env, token := []string{"BRAID_POSTGRES_URL=" + b.server}, tokenFile(t)
	script := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(script, []byte("rules:\n  - when: {user: end it, round: any}\n    reply:\n      - call: deadly___fatal\n"+
		"        args: {}\n  - when: {round: any}\n    reply: I am here.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	var servers []*supervised
	for range 3 {
		s := &supervised{}
		s.mu.Lock() // until it has started
		fatal := func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			calls.Add(1)
			s.kill()
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		tools := mcp.NewServer(&mcp.Implementation{Name: "deadly", Version: "1"}, nil)
		mcp.AddTool(tools, &mcp.Tool{Name: "fatal", Description: "ends the process"}, fatal)
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools },
			&mcp.StreamableHTTPOptions{Stateless: true}))
		t.Cleanup(func() { go web.Close() }) // do not wait for calls that never end
		list := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(list, []byte(`{"mcpServers":{"deadly":{"type":"http","url":"`+web.URL+`"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		s.start = func() *node {
			return start(t, env, "--token-file", token, "--mcp", list, "--model", "demo:"+script)
		}
		s.now = s.start()
		s.mu.Unlock()
		servers = append(servers, s)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	conv, err := servers[0].node().client().Create(ctx, client.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := servers[0].node().client().Start(ctx, conv.ID, "end it", client.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for status := event.RunStatus(""); status != event.RunFailed; {
		for _, s := range servers { // one of them may be down
			c, err := client.New(s.node().url, secret.New(plantedToken), client.Options{Timeout: 5 * time.Second, Tries: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.GetRun(ctx, conv.ID, run.ID); err == nil {
				status = got.Status
				break
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("after %d calls the run is %q", calls.Load(), status)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("the tool was called %d times, want 3", n)
	}
	told := false
	for _, s := range servers {
		n := s.node()
		if r, err := n.client().Run(ctx, conv.ID, "hello", client.RunOptions{}); err != nil || r.Status != event.RunCompleted || r.Result != "I am here." {
			t.Errorf("the next run: %+v, %v", r, err)
		}
		told = told || slices.ContainsFunc(strings.Split(n.log.String(), "\n"), func(line string) bool {
			return strings.Contains(line, `"level":"ERROR"`) && strings.Contains(line, run.ID) && strings.Contains(line, "run_poisoned")
		})
		if took, code := n.stop(); code != 0 {
			t.Errorf("a server ended after %v with %d", took, code)
		}
	}
	if !told {
		t.Error("no server's log says why the run failed")
	}
}
