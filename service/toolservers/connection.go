package toolservers

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// connection is a server with one set of headers, for all runs that have the same.
type connection struct {
	pool   *Pool
	key    key
	server directory.ResolvedMCPServer
	store  directory.MCPStore

	// These are guarded by the pool's mutex.
	used time.Time
	busy int

	// mcp is the source if it is an MCP server, once there is one.
	mcp atomic.Pointer[mcpSource]

	mu sync.Mutex
	// attempt is the attempt to connect or to renew that is under way. It is nil if there is none.
	attempt *attempt
	// tried is when the last attempt ended.
	tried  time.Time
	from   source
	err    error
	closed bool
	list   listed
}

// attempt is one attempt to connect.
type attempt struct {
	began time.Time
	done  chan struct{}
}

// listed is a list of tools as runs get it.
type listed struct {
	// of is the number of the list, and 0 before the first one.
	of      int64
	tools   []*Tool
	byName  map[string]listedTool
	skipped []event.SkippedTool
}

// opened returns the connection's source. It is nil before the first attempt has ended.
func (c *connection) opened() source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from
}

// inUse reports whether a run needs the connection, also one that waits for its user. The caller holds the pool's mutex.
func (c *connection) inUse() bool {
	if c.busy > 0 {
		return true
	}
	from := c.mcp.Load() // c.mu may be held by a goroutine that waits for the pool's mutex
	return from != nil && from.servers.Waiting() > 0
}

// ready connects the server, or renews its list, if that is due. It waits at most for patience,
// counted from the beginning of the attempt, so that a slow server does not delay each run.
func (c *connection) ready(ctx context.Context, patience time.Duration) {
	signedIn := c.signedIn(ctx)
	if c.server.Server.OAuth != nil {
		patience = max(patience, signedInPatience)
	}
	c.mu.Lock()
	a := c.attempt
	if a == nil && (signedIn && !c.closed || c.due(time.Now())) {
		a = &attempt{began: time.Now(), done: make(chan struct{})}
		if c.pool.run(func(life context.Context) { c.try(life, a) }) {
			c.attempt = a
		} else {
			a = nil
		}
	}
	c.mu.Unlock()
	if a == nil {
		return
	}
	left := time.NewTimer(patience - time.Since(a.began))
	defer left.Stop()
	select {
	case <-a.done:
	case <-left.C:
	case <-ctx.Done():
	}
}

// signedInPatience is how long a run waits for a server with users that sign in: the first answer for a new grant is slow.
const signedInPatience = 12 * time.Second

// signedIn reports whether the server waits for its user to sign in, and the user has done so.
func (c *connection) signedIn(ctx context.Context) bool {
	if c.server.Server.OAuth == nil {
		return false
	}
	from, ok := c.opened().(*mcpSource)
	if !ok {
		return false
	}
	status, _, _ := from.state()
	return status == statusNeedsAuth && from.granted(ctx)
}

// due reports whether the server must be asked before a run uses it. The caller holds c.mu.
func (c *connection) due(now time.Time) bool {
	o := &c.pool.options
	switch {
	case c.closed:
		return false
	case c.tried.IsZero():
		return true
	case c.from == nil || !c.from.calm():
		return now.Sub(c.tried) >= o.RetryAfter
	}
	return now.Sub(c.tried) >= o.ListEvery
}

// try makes one attempt.
func (c *connection) try(life context.Context, a *attempt) {
	ctx, cancel := context.WithTimeout(life, c.pool.options.ConnectTimeout)
	defer cancel()
	from := c.opened()
	var err error
	if from == nil {
		from, err = c.open(ctx)
	} else {
		from.renew(ctx)
	}
	if m, ok := from.(*mcpSource); ok {
		c.mcp.Store(m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed && from != nil {
		from.close()
	}
	c.from, c.err, c.tried, c.attempt = from, err, time.Now(), nil
	close(a.done)
}

// open makes the connection's source. An error of a stored value is the operator's or the tenant's
// to mend; a server that does not answer is a state of the source.
func (c *connection) open(ctx context.Context) (source, error) {
	hidden, err := secretsOf(ctx, &c.server, c.store)
	if err != nil {
		return nil, err
	}
	if c.server.Server.Type == directory.MCPOpenAPI {
		return c.pool.openAPI(ctx, &c.server, c.store, hidden)
	}
	if err := c.pool.Check(&c.server.Server, nil); err != nil {
		return nil, err // the operator's rules may have changed since it was written
	}
	return c.pool.openMCP(ctx, &c.server, hidden, c.store)
}

// secretsOf returns the stored secrets of a server.
func secretsOf(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (directory.MCPSecrets, error) {
	if store == nil || len(s.Server.SecretHeaders)+len(s.Server.SecretCredentials) == 0 {
		return directory.MCPSecrets{}, nil
	}
	return store.MCPSecrets(ctx, &s.Server)
}

// current returns the tools of now, and how the server is doing.
func (c *connection) current() (l listed, status event.ToolServer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status = event.ToolServer{Name: c.server.Server.ID, Status: statusFailed}
	if c.from == nil {
		status.Reason = "it is not connected yet"
		if c.err != nil {
			status.Reason = reasonOf(c.err)
		}
		return listed{}, status
	}
	c.relist()
	var skipped []event.SkippedTool
	status.Status, status.Reason, skipped = c.from.state()
	status.Reason = plain(status.Reason, 500)
	status.Skipped = append(append(status.Skipped, c.list.skipped...), skipped...)
	for i := range status.Skipped {
		one := &status.Skipped[i]
		one.Tool, one.Why = plain(one.Tool, 200), plain(one.Why, 500)
	}
	if len(status.Skipped) > mostSkipped {
		more := len(status.Skipped) - mostSkipped
		status.Skipped = append(status.Skipped[:mostSkipped:mostSkipped], event.SkippedTool{Why: "and " + strconv.Itoa(more) + " more are left out"})
	}
	if status.Status != statusConnected {
		if status.Reason == "" {
			status.Reason = "it cannot be reached"
		}
		if status.Status != statusNeedsAuth {
			return listed{}, status
		}
	}
	return c.list, status
}

// mostSkipped bounds the tools that a run's first event lists as left out.
const mostSkipped = 20

// relist makes the tools of a new list. The caller holds c.mu.
func (c *connection) relist() {
	n := c.from.lists()
	if c.list.of == n && c.list.byName != nil {
		return
	}
	all := c.from.tools()
	l := listed{of: n, byName: make(map[string]listedTool, len(all))}
	for _, inner := range all {
		t, why := newTool(c, inner)
		if why != "" {
			l.skipped = append(l.skipped, event.SkippedTool{Tool: inner.name, Why: why})
			continue
		}
		l.tools = append(l.tools, t)
		l.byName[inner.name] = inner
	}
	c.list = l
}

// find returns a tool of the server's list of now.
func (c *connection) find(name string) (listedTool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from == nil {
		return listedTool{}, false
	}
	c.relist()
	t, ok := c.list.byName[name]
	return t, ok
}

// shut closes the connection. It waits for what belongs to it.
func (c *connection) shut() {
	c.mu.Lock()
	c.closed = true
	from := c.from
	if c.attempt != nil {
		from = nil // the attempt closes it
	}
	c.mu.Unlock()
	if from != nil {
		from.close()
	}
}

// reasonOf returns an error in words for users.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return plain(e.Message, 500)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer in time"
	}
	return "it cannot be connected"
}

// waits reports whether ready would wait.
func (c *connection) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempt != nil || c.server.Server.OAuth != nil || c.due(time.Now())
}
