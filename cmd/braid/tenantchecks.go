package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
)

// This file has the doctor's check of the MCP servers of tenants. It connects to each as a run does.

const (
	// tenantServersTime limits the check of all servers, and oneServerTime that of one.
	tenantServersTime = 20 * time.Second
	oneServerTime     = 5 * time.Second
	// mostServersAtOnce is how many servers are connected at once, and mostTenantServers how many are
	// checked.
	mostServersAtOnce = 8
	mostTenantServers = 200
)

// reached is how a tenant's server answers.
type reached struct {
	server directory.MCPServer
	offer  toolservers.Offer
	err    error
	// tokens are the names of tokens of a run without which the server cannot be asked.
	tokens []string
}

// lookAtTenantServers connects to the active MCP servers of all tenants and lists their tools.
func (d *diagnosis) lookAtTenantServers(ctx context.Context, keys directory.Sealer) {
	ctx, stop := context.WithTimeout(ctx, tenantServersTime)
	defer stop()
	people := directory.New(directory.Options{Database: d.service, Keys: keys})
	defer people.Close()
	servers, more, err := activeServers(ctx, people)
	if err != nil {
		d.brokenBy(err, "")
		return
	}
	if len(servers) == 0 {
		return
	}
	pool, err := d.p.openTenantServers(d.in, slog.New(slog.DiscardHandler))
	if err != nil {
		d.brokenBy(err, "correct --allow-host and --tenant-programs")
		return
	}
	defer pool.Close()
	list := make([]reached, len(servers))
	slots := make(chan struct{}, mostServersAtOnce)
	var tasks sync.WaitGroup
	for i := range servers {
		slots <- struct{}{}
		tasks.Go(func() {
			defer func() { <-slots }()
			list[i] = reach(ctx, pool, people, servers[i])
		})
	}
	tasks.Wait()
	for i := range list {
		d.tellOfServer(&list[i])
	}
	if more {
		d.note("check the others with braid admin mcp-server test", "only the first %d MCP servers of tenants were checked", mostTenantServers)
	}
}

// activeServers returns the active MCP servers of active tenants. more reports that there are others.
func activeServers(ctx context.Context, people *directory.Directory) (list []directory.MCPServer, more bool, err error) {
	for tenants := (directory.Query{Status: directory.Active, Limit: directory.MostPage}); ; {
		page, next, err := people.ListTenants(ctx, tenants)
		if err != nil {
			return nil, false, err
		}
		for i := range page {
			servers, err := people.MCPServers(ctx, page[i].ID)
			if err != nil {
				return nil, false, err
			}
			for j := range servers {
				if servers[j].Status != directory.Active {
					continue
				}
				if len(list) == mostTenantServers {
					return list, true, nil
				}
				list = append(list, servers[j])
			}
		}
		if next == "" {
			return list, false, nil
		}
		tenants.Cursor = next
	}
}

// reach asks one server, unless it needs tokens.
func reach(ctx context.Context, pool *toolservers.Pool, store directory.MCPStore, s directory.MCPServer) reached {
	r := reached{server: s}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t, _ := directory.ParseHeaderTemplate(s.Headers[name])
		r.tokens = append(r.tokens, t.Names()...)
	}
	if len(r.tokens) > 0 {
		return r
	}
	resolved, err := s.Resolve(nil)
	if err == nil {
		ctx, stop := context.WithTimeout(ctx, oneServerTime)
		defer stop()
		r.offer, err = pool.Ask(ctx, &resolved, store)
	}
	r.err = err
	return r
}

// tellOfServer reports how a server answers. One that is required fails the runs of its tenant, others
// only lack its tools.
func (d *diagnosis) tellOfServer(r *reached) {
	s := &r.server
	test := "braid admin mcp-server test " + s.ID + " --tenant " + s.Tenant
	reason := r.offer.Reason
	switch {
	case len(r.tokens) > 0:
		d.note(test+" --tokens-file FILE", "the MCP server %s of the tenant %s needs the token %s of a run and was not asked",
			s.ID, s.Tenant, r.tokens[0])
		return
	case r.err == nil && r.offer.Status == "connected":
		d.ok("the MCP server %s of the tenant %s offers %d tools", s.ID, s.Tenant, len(r.offer.Tools))
		return
	case errors.Is(r.err, context.DeadlineExceeded):
		reason = "it does not answer in " + oneServerTime.String()
	case r.err != nil:
		reason, _ = term.Describe(r.err)
	}
	effect := "its runs go on without its tools"
	if s.Required {
		effect = "its runs that need it fail"
	}
	d.warn("correct it, or make it inactive; ask it again with "+test, "the MCP server %s of the tenant %s is failed: %s; %s",
		s.ID, s.Tenant, reason, effect)
}
