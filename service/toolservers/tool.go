package toolservers

import (
	"context"
	"encoding/json"
	"path"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
)

// Tool is a tool of a tenant's server, as the model of a run sees it.
type Tool struct {
	conn *connection
	// inner is the tool as the server listed it. It is called only while the server's list has the same.
	inner  listedTool
	spec   tool.Spec
	traits tool.Traits
	// permission is the last one of the overrides. Empty means none.
	permission directory.ToolPermission
}

var _ tool.Optional = (*Tool)(nil)

// listedTool is a tool in the list of a server.
type listedTool struct {
	tool.Tool

	// name is the server's own name.
	name string
	// digest stands for everything that a model reads of the tool.
	digest string
}

// newTool returns the tool with the overrides of its server. why says why a tool cannot be used;
// empty means that it can.
func newTool(c *connection, inner listedTool) (t *Tool, why string) {
	s := &c.server.Server
	t = &Tool{conn: c, inner: inner, spec: inner.Spec(), traits: tool.TraitsOf(inner.Tool)}
	if len(t.spec.Schema) > mostSchema {
		return nil, "the schema of its arguments is larger than " + strconv.Itoa(mostSchema>>10) + " KiB"
	}
	if err := tool.CheckSchema(t.spec); err != nil {
		return nil, reasonOf(err)
	}
	t.spec.Description = plain(t.spec.Description, mostDescription)
	if s.Seconds > 0 {
		t.traits.Timeout = time.Duration(s.Seconds) * time.Second
	}
	for i := range s.Overrides {
		o := &s.Overrides[i]
		if !fits(o.Tool, inner.name) {
			continue
		}
		if o.Effect != "" {
			t.traits.Effect = o.Effect
		}
		if o.Permission != "" {
			t.permission = o.Permission
		}
	}
	if !t.traits.Repeats() {
		t.traits.Retry = tool.Retry{}
	}
	return t, ""
}

// fits reports whether a pattern is a name or matches it.
func fits(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec { return t.spec }

// Traits returns the tool's effect and time limit, after the overrides.
func (t *Tool) Traits() tool.Traits { return t.traits }

// SchemaErr returns nil: a tool whose schema cannot be used is left out of the list. See [tool.SchemaErrOf].
func (*Tool) SchemaErr() error { return nil }

// Server returns the id of the tool's server.
func (t *Tool) Server() string { return t.conn.server.Server.ID }

// Name returns the server's own name of the tool.
func (t *Tool) Name() string { return t.inner.name }

// LeftOut implements [tool.Optional].
func (t *Tool) LeftOut(model string, why error) {
	if o, ok := t.inner.Tool.(tool.Optional); ok {
		o.LeftOut(model, why)
	}
}

// Call implements [tool.Tool]. It opens the connection again if that was closed meanwhile. A tool
// that the server has changed or removed since it was offered is not called: the model decided by
// what it was told.
func (t *Tool) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	c, give, err := t.conn.pool.live(ctx, t.conn)
	if err != nil {
		return tool.Output{}, err
	}
	defer give()
	now, ok := c.find(t.inner.name)
	if !ok || now.digest != t.inner.digest {
		return tool.Output{}, &event.Error{
			Op: "tool " + t.spec.Name, Kind: event.ErrConflict,
			Message: "the MCP server " + strconv.Quote(t.Server()) + " has changed or removed this tool since it was offered, so it was not called",
			Hint:    "The next run gets the server's new list.",
		}
	}
	return now.Call(withConnection(ctx, c), args)
}
