package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/braidrun/braid/tool"
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

type metaKey struct{}

// WithMeta returns a context whose calls of tools tell servers this in _meta, beside what ctx says already. The names are those
// of the protocol, such as "example.com/locale". Names that the protocol keeps for itself, and those of the trace context, are
// left out. The values are JSON. Everything goes to every server that is called in ctx.
func WithMeta(ctx context.Context, meta map[string]json.RawMessage) context.Context {
	all, _ := ctx.Value(metaKey{}).(map[string]json.RawMessage)
	all = maps.Clone(all)
	if all == nil {
		all = make(map[string]json.RawMessage, len(meta))
	}
	maps.Copy(all, meta)
	return context.WithValue(ctx, metaKey{}, all)
}

// metaOf is what a call tells a server in _meta.
func metaOf(ctx context.Context) mcp.Meta {
	meta := traceOf(ctx)
	own, _ := ctx.Value(metaKey{}).(map[string]json.RawMessage)
	for name, value := range own {
		if reservedMeta(name) || !json.Valid(value) {
			continue
		}
		if meta == nil {
			meta = make(mcp.Meta, len(own)+1)
		}
		meta[name] = value
	}
	return meta
}

// reservedMeta reports whether a name in _meta is the protocol's: it has a part modelcontextprotocol or mcp before the slash,
// or belongs to progress or traces.
func reservedMeta(name string) bool {
	switch name {
	case "", progressToken, "traceparent", "tracestate", "baggage":
		return true
	}
	prefix, _, ok := strings.Cut(name, "/")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(prefix, ".") {
		if part == "modelcontextprotocol" || part == "mcp" {
			return true
		}
	}
	return false
}

// longestMeta bounds what a result's _meta may show.
const longestMeta = 64 << 10

// showMeta shows the watchers of a run what a result says in _meta, as data of the call's progress: {"_meta": {…}}. It is for
// programs, and no model reads it. What the protocol keeps for itself is left out.
func (s *server) showMeta(ctx context.Context, raw json.RawMessage) {
	if tool.CallOf(ctx) == nil || !bytes.Contains(raw, []byte(`"_meta"`)) {
		return
	}
	var w struct {
		Meta map[string]json.RawMessage `json:"_meta"` //nolint:tagliatelle // the protocol's name
	}
	if json.Unmarshal(raw, &w) != nil {
		return
	}
	maps.DeleteFunc(w.Meta, func(name string, _ json.RawMessage) bool { return reservedMeta(name) })
	if len(w.Meta) == 0 {
		return
	}
	shown, err := json.Marshal(w)
	if err != nil || len(shown) > longestMeta {
		return
	}
	proper, ok := keepable(shown)
	if ok && s.mask() != nil {
		proper = s.hideInJSON(proper)
	}
	if ok && len(proper) > 0 {
		tool.ProgressData(progressFor(ctx), proper)
	}
}
