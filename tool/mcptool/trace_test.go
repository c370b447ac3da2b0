package mcptool_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"
)

func TestAServerIsToldTheTrace(t *testing.T) {
	t.Parallel()
	var got mcp.Meta
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		got = r.Params.Meta
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil, nil
	})
	one := toolOf(t, connect(t, patient(), inside(t, "s", s)), "look")
	state, err := trace.ParseTraceState("vendor=1")
	if err != nil {
		t.Fatal(err)
	}
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
	for _, c := range []struct {
		ctx           context.Context
		parent, state any
	}{
		{t.Context(), nil, nil},
		{traced, "00-01000000000000000000000000000000-0200000000000000-01", "vendor=1"},
	} {
		if _, err := one.Call(c.ctx, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if got["traceparent"] != c.parent || got["tracestate"] != c.state {
			t.Errorf("the server was told %v", got)
		}
	}
}
