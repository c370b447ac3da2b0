package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// traceOf is what a request tells a server of the trace that it belongs to: the W3C trace
// context, under the names that MCP keeps for it in _meta. Nil where there is no trace. Baggage
// stays here: it is the caller's own, and the server is somebody else's.
func traceOf(ctx context.Context) mcp.Meta {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	meta := make(mcp.Meta, len(carrier)+1)
	for name, value := range carrier {
		if value != "" {
			meta[name] = value
		}
	}
	return meta
}
