package toolservers

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/service/directory"
)

// Pool has the connections to tenants' servers. It is safe for concurrent use. Make it with [New].
type Pool struct {
	options   Options
	documents *netguard.Guard
	// logins carries requests to authorization servers.
	logins *netguard.Guard

	// life ends with the pool; work counts what must end with it.
	life context.Context //nolint:containedctx // connections outlive the runs that need them
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[key]*connection
	apis   map[apiKey]*sharedAPI
	// sweep closes unused connections. It is nil if there are none.
	sweep *time.Timer
}

// New returns a pool. It connects to nothing. It returns [event.ErrInvalid] if an allowed host
// cannot be read.
func New(o Options) (*Pool, error) {
	o = o.withDefaults()
	documents, err := newDocuments(&o)
	if err != nil {
		return nil, err
	}
	logins, err := newLogins(&o)
	if err != nil {
		return nil, err
	}
	p := &Pool{options: o, documents: documents, logins: logins, open: map[key]*connection{}, apis: map[apiKey]*sharedAPI{}}
	p.life, p.end = context.WithCancel(context.Background())
	return p, nil
}

// run runs work that ends with the pool. It reports false if the pool is closed. It must not be
// called with p.mu.
func (p *Pool) run(work func(life context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(func() { work(p.life) })
	return true
}

// connection returns the connection of a server, which is busy until give is called.
func (p *Pool) connection(s *directory.ResolvedMCPServer, store directory.MCPStore) (c *connection, give func(), err error) {
	k := keyOf(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, gone()
	}
	c = p.open[k]
	if c == nil {
		if len(p.open) >= p.options.Most && !p.makeRoom() {
			return nil, nil, &event.Error{
				Op: "MCP server", Kind: event.ErrUnavailable,
				Message: "this service has " + strconv.Itoa(p.options.Most) + " connections to MCP servers, all of them in use",
				Hint:    "try again later",
			}
		}
		c = &connection{pool: p, key: k, server: *s, store: store}
		p.open[k] = c
		if p.sweep == nil {
			p.sweep = time.AfterFunc(p.options.Idle, p.closeIdle)
		}
	}
	c.used = time.Now()
	c.busy++
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.busy--
		c.used = time.Now()
	}, nil
}

func gone() error {
	return &event.Error{Op: "MCP server", Kind: event.ErrGone, Message: "the connections to MCP servers are closed", Hint: "start the service again"}
}

// live returns the connection of a tool for a call. It opens one anew if the tool's was closed.
func (p *Pool) live(ctx context.Context, of *connection) (c *connection, give func(), err error) {
	if c, give, err = p.connection(&of.server, of.store); err != nil {
		return nil, nil, err
	}
	if c.opened() == nil {
		c.ready(ctx, p.options.ConnectTimeout)
	}
	if err := ctx.Err(); err != nil {
		give()
		return nil, nil, err
	}
	c.mu.Lock()
	from, fault := c.from, c.err
	c.mu.Unlock()
	if from == nil {
		give()
		if fault == nil {
			fault = &event.Error{
				Op: "MCP server", Kind: event.ErrUnavailable, Message: "the MCP server " + strconv.Quote(of.server.Server.ID) + " is not connected",
				Hint: "try again later",
			}
		}
		return nil, nil, fault
	}
	return c, give, nil
}

// makeRoom closes the connection that was not used for the longest time. The caller holds p.mu.
func (p *Pool) makeRoom() bool {
	var oldest *connection
	for _, c := range p.open {
		if !c.inUse() && (oldest == nil || c.used.Before(oldest.used)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// remove closes a connection beside the caller, who holds p.mu.
func (p *Pool) remove(c *connection) {
	delete(p.open, c.key)
	p.work.Go(c.shut)
}

// closeIdle closes the connections that were not used for a while, and forgets documents that no
// connection uses.
func (p *Pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	before := time.Now().Add(-p.options.Idle)
	used := map[apiKey]bool{}
	for _, c := range p.open {
		if !c.inUse() && !c.used.After(before) {
			p.remove(c)
			continue
		}
		used[apiKey{c.key.tenant, c.key.life, c.key.id, c.key.version}] = true
	}
	for k, a := range p.apis {
		if !used[k] && !a.used.After(before) {
			delete(p.apis, k)
		}
	}
	p.sweep = nil
	if len(p.open)+len(p.apis) > 0 {
		p.sweep = time.AfterFunc(p.options.Idle/2, p.closeIdle)
	}
}

// Forget closes the connections of a tenant, which is erased.
func (p *Pool) Forget(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for k, c := range p.open {
		if k.tenant == tenant {
			p.remove(c)
		}
	}
	for k := range p.apis {
		if k.tenant == tenant {
			delete(p.apis, k)
		}
	}
}

// Open returns how many connections are open.
func (p *Pool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Close closes all connections and waits for their end. Calls in flight fail.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.end()
	for _, c := range p.open {
		p.work.Go(c.shut)
	}
	clear(p.open)
	p.mu.Unlock()
	p.work.Wait()
	p.documents.CloseIdleConnections()
	p.logins.CloseIdleConnections()
	return nil
}
