// Package grant has what people allow for longer than one tool call, and the stores that keep it.
package grant

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Grant is what a person has allowed for longer than one call.
type Grant struct {
	// Tenant is the conversation's tenant. The grant holds for no other.
	Tenant string `json:"tenant,omitempty"`
	// User is the conversation's user. The grant holds for no other.
	User string `json:"user,omitempty"`
	// Agent is the agent that may call the tool.
	Agent string `json:"agent"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// ToolHash is a hash of the tool's description and schema. A tool that changes them, as one of an MCP server may, needs a
	// new grant.
	ToolHash string `json:"tool_hash"`
	// Args are the exact arguments, in canonical JSON.
	Args json.RawMessage `json:"args,omitempty"`
	// AnyArgs lets the grant hold for all arguments. A grant with neither Args nor AnyArgs holds for nothing.
	AnyArgs bool `json:"any_args,omitempty"`
	// By is the person who allowed it.
	By string `json:"by,omitempty"`
	// At is when it was allowed.
	At time.Time `json:"at,omitzero"`
}

// Covers reports whether the grant allows a call: of the same tenant, user, agent and tool, whose description and schema
// have not changed, with the same arguments unless AnyArgs is set.
func (g *Grant) Covers(call *Grant) bool {
	return g.Tenant == call.Tenant && g.User == call.User && g.Agent == call.Agent && g.Tool == call.Tool && g.ToolHash == call.ToolHash &&
		(g.AnyArgs || g.Args != nil && !call.AnyArgs && bytes.Equal(g.Args, call.Args))
}

// Store keeps what people have allowed for always. It is safe for concurrent use. A run waits for its calls.
type Store interface {
	// Granted reports whether a grant covers the call, which is given as the grant that it needs: see [Grant.Covers]. After an
	// error a person is asked.
	Granted(ctx context.Context, call Grant) (bool, error)
	// Grant keeps a grant. A driver that takes a run over may grant the same again.
	Grant(ctx context.Context, g Grant) error
}

// Memory keeps grants as long as it lives. Its zero value is ready. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	list []Grant
}

// Granted implements [Store].
func (m *Memory) Granted(_ context.Context, call Grant) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.list, func(g Grant) bool { return g.Covers(&call) }), nil
}

// Grant implements [Store].
func (m *Memory) Grant(_ context.Context, g Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(m.list, func(o Grant) bool { return o.Covers(&g) }) {
		m.list = append(m.list, g)
	}
	return nil
}

// List returns the grants that are kept.
func (m *Memory) List() []Grant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// Revoke removes the grants that which picks and returns their number. It takes effect with the next tool call.
func (m *Memory) Revoke(which func(Grant) bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.list)
	m.list = slices.DeleteFunc(m.list, which)
	return before - len(m.list)
}
