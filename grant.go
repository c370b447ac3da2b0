package braid

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/userdata"
)

// Grant is what a person has allowed for longer than one call.
type Grant struct {
	// Tenant and User are whose conversation it was, as [For] said; it holds for no other.
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user,omitempty"`
	// Agent may call Tool.
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// ToolHash is a hash of the tool's description and of its schema. A tool that changes what it
	// says of itself, as one of an MCP server may, needs a new grant.
	ToolHash string `json:"tool_hash"`
	// Args are the exact arguments, in canonical JSON. AnyArgs lets the grant hold whatever they are;
	// a grant with neither holds for nothing.
	Args    json.RawMessage `json:"args,omitempty"`
	AnyArgs bool            `json:"any_args,omitempty"`
	// By says who allowed it, At when.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
}

// Covers reports whether the grant allows a call: of the same tenant, user, agent and tool, whose
// description and schema have not changed, with the same arguments unless AnyArgs is set.
func (g *Grant) Covers(call *Grant) bool {
	return g.Tenant == call.Tenant && g.User == call.User && g.Agent == call.Agent && g.Tool == call.Tool && g.ToolHash == call.ToolHash &&
		(g.AnyArgs || g.Args != nil && !call.AnyArgs && bytes.Equal(g.Args, call.Args))
}

// toolHash returns the hash that approvals of a tool are bound to. It covers all that the model and the
// user read about the tool. The order of the schema's keys does not count.
func toolHash(t Tool) string {
	spec := t.Spec()
	schema := spec.Schema
	if exact, err := canonical(schema); err == nil {
		schema = exact
	}
	return hashOf(spec.Name, spec.Description, string(schema))
}

// hashOf returns a hash of parts. Each part is hashed with its length, so that parts cannot run together.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Grants keeps what people have allowed for always. It is safe for concurrent use; its calls
// are made while a run waits for them.
type Grants interface {
	// Granted reports whether a grant covers the call, which is given as the grant that it
	// would need: see [Grant.Covers]. After an error a person is asked.
	Granted(ctx context.Context, call Grant) (bool, error)
	// Grant keeps one. A driver that takes a run over may grant the same again.
	Grant(ctx context.Context, g Grant) error
}

// MemoryGrants keeps grants as long as it lives. Its zero value is ready; it is what an agent has
// without Grants of one's own. It is safe for concurrent use.
type MemoryGrants struct {
	mu   sync.Mutex
	list []Grant
}

// Granted implements [Grants].
func (m *MemoryGrants) Granted(_ context.Context, call Grant) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.list, func(g Grant) bool { return g.Covers(&call) }), nil
}

// Grant implements [Grants].
func (m *MemoryGrants) Grant(_ context.Context, g Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(m.list, func(o Grant) bool { return o.Covers(&g) }) {
		m.list = append(m.list, g)
	}
	return nil
}

// List tells what is kept.
func (m *MemoryGrants) List() []Grant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// Revoke takes back each grant that which picks, and tells how many. It counts from the next call
// of a tool on.
func (m *MemoryGrants) Revoke(which func(Grant) bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.list)
	m.list = slices.DeleteFunc(m.list, which)
	return before - len(m.list)
}

// stateGrant begins the keys of the state in which a conversation keeps its own grants. No tool
// can write them.
const stateGrant = userdata.Reserved + "grant:"

// key is where the conversation keeps the grant.
func (g *Grant) key() string {
	args := string(g.Args)
	if g.AnyArgs {
		args = "" // no JSON is empty
	}
	return stateGrant + hashOf(g.User, g.Agent, g.Tool, g.ToolHash, args)
}

// inState reports whether the conversation has a grant for the call.
func (g *Grant) inState(c *runningCall) bool {
	if _, ok := c.State(g.key()); ok {
		return true
	}
	whole := *g
	whole.AnyArgs = true
	_, ok := c.State(whole.key())
	return ok
}

// toState keeps the grant with the conversation. It is written with the end of the call.
func (g *Grant) toState(c *runningCall) {
	value, err := json.Marshal(struct {
		Tool string `json:"tool"`
		By   string `json:"by,omitempty"`
	}{g.Tool, g.By})
	if err == nil {
		c.SetState(g.key(), value)
	}
}

// canonical gives JSON in the one form that all JSON of the same meaning has: members sorted by
// name, no space, no needless escapes. Numbers stay as they are written, so that 1 is not 1.0.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
