package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
)

// onceCaller calls one tool and ends.
type onceCaller struct{ name string }

func (onceCaller) Info() model.Info { return model.Info{Name: "test:once", Simulated: true} }

func (m onceCaller) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if r.Cycle == 1 && m.name != "" {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: m.name}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// cpuTime is the processor time of the process so far, which other processes do not lengthen.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTenantServers measures a warm run that uses one tool: of the only server, and of 40 servers with 1,000 tools. The
// bound of their difference is 5 ms of processor time:
//
//	go test -run XXX -bench TenantServers -benchtime 300x ./service/agents
func BenchmarkTenantServers(b *testing.B) {
	for _, c := range []struct{ servers, tools int }{{1, 1}, {40, 25}} {
		b.Run(fmt.Sprintf("%d servers, %d tools", c.servers, c.servers*c.tools), func(b *testing.B) {
			var hosts []string
			var list []directory.ResolvedMCPServer
			for i := range c.servers {
				s := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
				for n := range c.tools {
					s.AddTool(&mcp.Tool{
						Name: fmt.Sprint("tool_", n), Description: "Finds the orders of a customer by name, and lists them with their prices.",
						InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","title":"%d %d","properties":{"name":{"type":"string"},"limit":{"type":"integer","minimum":1}}}`, i, n)),
					}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
					})
				}
				web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
				defer web.Close()
				defer web.CloseClientConnections()
				u, err := url.Parse(web.URL)
				if err != nil {
					b.Fatal(err)
				}
				hosts = append(hosts, u.Host)
				list = append(list, directory.ResolvedMCPServer{Server: directory.MCPServer{
					Tenant: "acme", ID: fmt.Sprint("s", i), Version: 1, MCPServerSpec: directory.MCPServerSpec{Type: directory.MCPHTTP, URL: web.URL},
				}})
			}
			pool, err := toolservers.New(toolservers.Options{AllowHosts: hosts})
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			f, err := New(b.Context(), Options{Model: onceCaller{"s0___tool_0"}, TenantServers: pool})
			if err != nil {
				b.Fatal(err)
			}
			run := func() {
				agent, err := f.Agent(b.Context(), service.AgentRequest{AgentOptions: service.AgentOptions{MCPServers: list}})
				if err != nil {
					b.Fatal(err)
				}
				r, err := agent.Run(b.Context(), "go")
				if err != nil || r.Metrics.ToolCalls != 1 {
					b.Fatal(err, r)
				}
			}
			run()
			measure(b, run)
		})
	}
}

// measure reports the processor time of a run beside its time.
func measure(b *testing.B, run func()) {
	b.Helper()
	before := cpuTime(b)
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
}

// documents is a store of one document.
type documents struct {
	directory.MCPStore

	document []byte
}

func (d documents) MCPDocument(context.Context, *directory.MCPServer) ([]byte, error) {
	return d.document, nil
}

// BenchmarkTenantDocument measures a warm run that calls one operation: of a document with one, and of one with 900, of which
// nothing may be read again.
func BenchmarkTenantDocument(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer web.Close()
	u, err := url.Parse(web.URL)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 900} {
		b.Run(fmt.Sprint(n, " operations"), func(b *testing.B) {
			var paths []string
			for i := range n {
				paths = append(paths, fmt.Sprintf(`"/orders/%d/{id}":{"get":{"operationId":"op_%d","summary":"Reads an order of a customer with its prices.",
					"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","default":"x"}},{"name":"limit","in":"query","schema":{"type":"integer"}}],
					"responses":{"200":{"description":"ok"}}}}`, i, i))
			}
			store := documents{document: []byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{` + strings.Join(paths, ",") + `}}`)}
			pool, err := toolservers.New(toolservers.Options{AllowHosts: []string{u.Host}})
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			f, err := New(b.Context(), Options{Model: onceCaller{"api___op_0"}, TenantServers: pool})
			if err != nil {
				b.Fatal(err)
			}
			list := []directory.ResolvedMCPServer{{Server: directory.MCPServer{Tenant: "acme", ID: "api", Version: 1, MCPServerSpec: directory.MCPServerSpec{
				Type: directory.MCPOpenAPI, URL: web.URL, Document: &directory.MCPDocument{SHA256: "x"},
			}}}}
			run := func() {
				agent, err := f.Agent(b.Context(), service.AgentRequest{
					AgentOptions: service.AgentOptions{MCPServers: list}, Parts: service.TenantParts{MCPStore: store},
				})
				if err != nil {
					b.Fatal(err)
				}
				r, err := agent.Run(b.Context(), "go")
				if err != nil || r.Metrics.ToolCalls != 1 {
					b.Fatal(err, r)
				}
			}
			run()
			measure(b, run)
		})
	}
}
