package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// MCPOAuth says how users sign in to an MCP server. The zero value has the service identify itself.
type MCPOAuth struct {
	// ClientID is that of a client that is registered with the authorization server.
	ClientID string `json:"client_id,omitempty"`
	// Issuer is the only authorization server that gets the client id and the client's secret, which is the secret credential
	// client_secret. Empty means the one that the MCP server names.
	Issuer string `json:"issuer,omitempty"`
	// Scopes are asked for where the server names none.
	Scopes []string `json:"scopes,omitzero"`
}

// MCPGrant is what a user has granted to an MCP server, or is about to.
type MCPGrant struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Server string `json:"mcp_server"`
	User   string `json:"user"`
	// Status is signed_in or pending.
	Status string `json:"status"`
	// Issuer is the authorization server.
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// SignedInAt is when the user signed in, ExpiresAt when a pending sign-in ends.
	SignedInAt time.Time `json:"signed_in_at,omitzero"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// MCPSignIn is a sign-in to an MCP server that is under way.
type MCPSignIn struct {
	ID     string `json:"sign_in_id"`
	Server string `json:"mcp_server"`
	User   string `json:"user"`
	// URL is the link that the user opens. Show it to nobody else.
	URL string `json:"url"`
	// Issuer is the authorization server, and Scopes are what it is asked for.
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// BeginMCPSignIn begins to sign a user in to an MCP server beside any run, or returns the sign-in that is under way. An empty user
// stands for the tenant's runs without one. It returns [github.com/braidrun/braid/event.ErrUnsupported] if nobody signs in to
// the server.
func (a Admin) BeginMCPSignIn(ctx context.Context, tenant, server, user string) (out MCPSignIn, err error) {
	in := struct {
		User string `json:"user,omitempty"`
	}{user}
	return out, a.ask(ctx, http.MethodPost, nil, in, &out, tenant, "mcp-servers", server, "grants")
}

// BeginMCPSignIn begins to sign the credential's user in to an MCP server. It is [Admin.BeginMCPSignIn] for that user.
func (c *Client) BeginMCPSignIn(ctx context.Context, server string) (out MCPSignIn, err error) {
	return out, c.call(ctx, http.MethodPost, path("mcp-grants", server), nil, nil, &out)
}

// MCPGrants yields what users have granted to an MCP server.
func (a Admin) MCPGrants(ctx context.Context, tenant, server string) iter.Seq2[MCPGrant, error] {
	return all[MCPGrant](ctx, a, url.Values{}, tenant, "mcp-servers", server, "grants")
}

// RevokeMCPGrant ends a user's grant for an MCP server, here and at its authorization server. It returns
// [github.com/braidrun/braid/event.ErrNotFound] if there is none.
func (a Admin) RevokeMCPGrant(ctx context.Context, tenant, server, grant string) error {
	return a.ask(ctx, http.MethodDelete, nil, nil, nil, tenant, "mcp-servers", server, "grants", grant)
}

// MCPGrants returns what the credential's user has granted to MCP servers: at most 100, by id.
func (c *Client) MCPGrants(ctx context.Context) ([]MCPGrant, error) {
	var out data[MCPGrant]
	err := c.call(ctx, http.MethodGet, path("mcp-grants"), url.Values{"limit": {"100"}}, nil, &out)
	return out.Data, err
}

// RevokeMCPGrant ends the grant of the credential's user for an MCP server, here and at its authorization server. It
// returns [github.com/braidrun/braid/event.ErrNotFound] if there is none.
func (c *Client) RevokeMCPGrant(ctx context.Context, server string) error {
	return c.call(ctx, http.MethodDelete, path("mcp-grants", server), nil, nil, nil)
}
