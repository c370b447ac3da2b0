package mcptool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcptool"
)

// A call of a tool over loopback costs at most 1.5 times the call of the official SDK. Both take turns, so that they share what
// else happens on the machine; "x" is the median of their ratios.
//
//	go test -run '^$' -bench Call ./tool/mcptool
func BenchmarkCall(b *testing.B) {
	for _, one := range []struct {
		name    string
		options *mcp.StreamableHTTPOptions
	}{
		{"stateless", &mcp.StreamableHTTPOptions{Stateless: true}},
		{"json", &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}},
		{"sessions", nil},
	} {
		b.Run(one.name, func(b *testing.B) {
			bare, ours := callers(b, one.options)
			const calls = 4
			var ratios []float64
			var floor time.Duration
			for b.Loop() {
				var took [2]time.Duration
				for i, call := range []func(){bare, ours} {
					begun := time.Now()
					for range calls {
						call()
					}
					took[i] = time.Since(begun)
				}
				floor += took[0]
				ratios = append(ratios, float64(took[1])/float64(took[0]))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x")
			b.ReportMetric(float64(floor.Nanoseconds())/float64(len(ratios)*calls), "sdk-ns/call")
		})
	}
}

// callers returns a call of the official SDK, and one of a tool in a run, to the same server.
func callers(b *testing.B, o *mcp.StreamableHTTPOptions) (bare, ours func()) {
	b.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "say", InputSchema: json.RawMessage(`{"type":"object"}`)}, says(strings.Repeat("a usual result, ", 5)))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	b.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cs.Close() })
	servers, err := mcptool.Connect(b.Context(), mcptool.Options{ElicitAsQuestion: true}, mcptool.Config{Name: "bench", URL: web.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = servers.Close() })
	ctx, say := tool.NewCall(b.Context(), deaf{}, tool.Call{ID: "c", Run: "r", Step: "s"}), servers.Tools()[0]
	params := &mcp.CallToolParams{Name: "say", Arguments: json.RawMessage(`{"a":1}`)}
	return func() {
			if _, err := cs.CallTool(b.Context(), params); err != nil {
				b.Fatal(err)
			}
		}, func() {
			if out, err := say.Call(ctx, json.RawMessage(`{"a":1}`)); err != nil || out.IsError {
				b.Fatal(out, err)
			}
		}
}

// deaf is a host that takes news, and is asked for nothing else.
type deaf struct{ tool.Host }

func (deaf) Progress(*event.ToolProgress) {}
