package toolservers

import (
	"context"
	"crypto/rand"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcptool"
)

// SignIns are the addresses of this service for users who sign in to MCP servers. The zero value signs nobody in.
type SignIns struct {
	// Redirect is where authorization servers send browsers back.
	Redirect string
	// Metadata is the address of the service's Client ID Metadata Document. Empty means none.
	Metadata string
}

// signIn returns how the user of a run signs in to a server. nil means that nobody does.
func (p *Pool) signIn(
	s *directory.ResolvedMCPServer, hidden directory.MCPSecrets, store directory.MCPStore,
) func(mcptool.Config) (*mcpauth.Client, error) {
	if s.Server.OAuth == nil || store == nil || p.options.SignIns.Redirect == "" {
		return nil
	}
	return func(mcptool.Config) (*mcpauth.Client, error) { return p.login(s, hidden, store) }
}

// login returns the client that signs the user in. All its requests go through the guard of outgoing connections.
func (p *Pool) login(s *directory.ResolvedMCPServer, hidden directory.MCPSecrets, store directory.MCPStore) (*mcpauth.Client, error) {
	k := s.GrantKey()
	return mcpauth.New(mcpauth.Options{
		Server: s.Server.ID, URL: s.Server.URL, Redirect: p.options.SignIns.Redirect, ClientMetadataURL: p.options.SignIns.Metadata,
		Store: grants{store, k}, ClientID: s.Server.OAuth.ClientID,
		ClientSecret: hidden.Credentials[directory.OAuthClientSecret], Issuer: s.Server.OAuth.Issuer, Scopes: s.Server.OAuth.Scopes,
		Transport: p.logins,
		NewState:  func() (string, error) { return store.SealSignIn(k, rand.Text()+rand.Text()) },
	})
}

// newLogins returns the guard of requests to authorization servers.
func newLogins(o *Options) (*netguard.Guard, error) {
	return netguard.New(netguard.Options{Allow: o.AllowHosts, MaxBytes: 2 << 20})
}

// grants is the grant of one user for one server, as a store.
type grants struct {
	store directory.MCPStore
	key   directory.MCPGrantKey
}

// Load implements [mcpauth.Store].
func (g grants) Load(ctx context.Context, _ string) (*mcpauth.Entry, int64, error) {
	plain, version, err := g.store.LoadMCPGrant(ctx, g.key)
	if err != nil || version == 0 {
		return &mcpauth.Entry{}, 0, err
	}
	e, err := mcpauth.Decode(plain)
	return e, version, err
}

// Save implements [mcpauth.Store]. An entry without a grant and a sign-in is removed.
func (g grants) Save(ctx context.Context, _ string, e *mcpauth.Entry, version int64) error {
	var info *directory.MCPGrantInfo
	switch {
	case e.Grant != nil:
		info = &directory.MCPGrantInfo{Status: "signed_in", Issuer: e.Grant.Issuer, Scopes: e.Grant.Scopes, SignedIn: e.Grant.At}
	case e.Login != nil:
		info = &directory.MCPGrantInfo{Status: "pending", Issuer: e.Login.Issuer, Scopes: e.Login.Scopes, Expires: e.Login.Expires}
	}
	plain, err := e.Encode()
	if err != nil {
		return err
	}
	return g.store.SaveMCPGrant(ctx, g.key, plain, info, version)
}

// Answer is what an authorization server sent a browser back with.
type Answer = mcpauth.Answer

// Completed is a sign-in that has ended.
type Completed struct {
	// ID names the sign-in in the questions that wait for it.
	ID string
	// Conversations have runs that wait for it.
	Conversations []string
}

// Complete ends a sign-in of the user of s. A sign-in that the user or the authorization server refused has ended, too: it
// is returned with the error. The errors are those of [mcpauth.Client.Complete].
func (p *Pool) Complete(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, a Answer) (Completed, error) {
	c, err := p.client(ctx, s, store)
	if err != nil {
		return Completed{}, err
	}
	l, err := c.Complete(ctx, a)
	if l == nil {
		return Completed{}, err
	}
	return Completed{l.ID, l.For}, err
}

// SignOut forgets the grant of the user of s, and asks its authorization server to end it.
func (p *Pool) SignOut(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) error {
	c, err := p.client(ctx, s, store)
	if err != nil {
		return err
	}
	_, err = c.Revoke(ctx)
	p.forgetUser(s)
	return err
}

func (p *Pool) client(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (*mcpauth.Client, error) {
	if s.Server.OAuth == nil || p.options.SignIns.Redirect == "" {
		return nil, &event.Error{
			Op: "sign in", Kind: event.ErrUnsupported, Message: "nobody signs in to this MCP server", Hint: "set oauth of the server",
		}
	}
	hidden, err := secretsOf(ctx, s, store)
	if err != nil {
		return nil, err
	}
	return p.login(s, hidden, store)
}

// Begin begins to sign the user of s in, or returns the sign-in that is under way.
func (p *Pool) Begin(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (*mcpauth.Login, error) {
	c, err := p.client(ctx, s, store)
	if err != nil {
		return nil, err
	}
	return c.Begin(ctx, "")
}

// forgetUser closes the connections of a user to a server.
func (p *Pool) forgetUser(s *directory.ResolvedMCPServer) {
	of := keyOf(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, c := range p.open {
		if k.tenant == of.tenant && k.id == of.id && k.user == of.user && !p.closed {
			p.remove(c)
		}
	}
}

// Peek returns the error of a sign-in that cannot be completed, without completing it.
func (p *Pool) Peek(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, a Answer) error {
	c, err := p.client(ctx, s, store)
	if err != nil {
		return err
	}
	return c.Peek(ctx, a)
}
