package toolservers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/tool"
)

// site is a server on loopback that remembers the headers of its requests.
type site struct {
	*httptest.Server

	mu      sync.Mutex
	handler http.Handler
	headers []http.Header
}

func newSite(t *testing.T, h http.Handler) *site {
	t.Helper()
	s := &site{handler: h}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		h := s.handler
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *site) become(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// values are the different values of a header that were received.
func (s *site) values(name string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.headers {
		if v := h.Get(name); v != "" && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.headers)
}

func (s *site) host(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

var emptySchema = json.RawMessage(`{"type":"object"}`)

// offering is an MCP server with tools that say their name.
func offering(t *testing.T, o *mcp.ServerOptions, tools ...*mcp.Tool) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, o)
	for _, one := range tools {
		add(s, one)
	}
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return s
}

func add(s *mcp.Server, one *mcp.Tool) {
	if one.InputSchema == nil {
		one.InputSchema = emptySchema
	}
	s.AddTool(one, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said := one.Name
		if r.Extra != nil {
			said += fmt.Sprint(" for ", r.Extra.Header, " in session ", r.Session.ID())
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil
	})
}

func overHTTP(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// newPool allows the sites' hosts.
func newPool(t *testing.T, change func(o *toolservers.Options), sites ...*site) *toolservers.Pool {
	t.Helper()
	o := toolservers.Options{Patience: time.Minute, ConnectTimeout: time.Minute}
	for _, s := range sites {
		o.AllowHosts = append(o.AllowHosts, s.host(t))
	}
	if change != nil {
		change(&o)
	}
	p, err := toolservers.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func server(tenant, id, address string, change func(s *directory.MCPServer)) *directory.MCPServer {
	s := &directory.MCPServer{Tenant: tenant, ID: id, Life: "life", Version: 1, MCPServerSpec: directory.MCPServerSpec{
		Type: directory.MCPHTTP, URL: address, Headers: map[string]string{"Authorization": "Bearer ${token}"},
	}}
	if change != nil {
		change(s)
	}
	return s
}

func resolved(t *testing.T, s *directory.MCPServer, token string) directory.ResolvedMCPServer {
	t.Helper()
	r, err := s.Resolve(map[string]secret.Secret{"token": secret.New(token)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stored is a store of secrets and documents.
type stored struct {
	directory.MCPStore // these tests use no grants

	headers, credentials map[string]secret.Secret
	document             string
}

func (s stored) MCPSecrets(context.Context, *directory.MCPServer) (directory.MCPSecrets, error) {
	return directory.MCPSecrets{Headers: s.headers, Credentials: s.credentials}, nil
}

func (s stored) MCPDocument(context.Context, *directory.MCPServer) ([]byte, error) {
	return []byte(s.document), nil
}

func setOf(t *testing.T, p *toolservers.Pool, store directory.MCPStore, servers ...directory.ResolvedMCPServer) *toolservers.Set {
	t.Helper()
	set, err := p.For(t.Context(), servers, store, nil, nil)
	if err != nil {
		t.Fatalf("%v, caused by %v", err, errorsOf(err))
	}
	return set
}

func errorsOf(err error) string {
	var all []string
	for ; err != nil; err = unwrap(err) {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; ")
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func namesOf(set *toolservers.Set) (names []string) {
	for _, one := range set.Tools() {
		names = append(names, one.Spec().Name)
	}
	return names
}

func toolOf(t *testing.T, set *toolservers.Set, name string) tool.Tool {
	t.Helper()
	for _, one := range set.Tools() {
		if one.Spec().Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s in %v: %+v", name, namesOf(set), set.ToolServers())
	return nil
}

func call(t *testing.T, one tool.Tool, args string) string {
	t.Helper()
	out, err := one.Call(t.Context(), json.RawMessage(args))
	if err != nil {
		t.Fatal(err, errorsOf(err))
	}
	return event.TextOf(out.Content)
}
