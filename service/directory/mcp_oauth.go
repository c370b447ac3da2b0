package directory

// MCPOAuth says how users sign in to an MCP server with OAuth. The zero value has the service use its metadata document, or
// register itself.
type MCPOAuth struct {
	// ClientID is that of a client that is registered with the authorization server.
	ClientID string `json:"client_id,omitempty"`
	// Issuer is the only authorization server that gets the client id. Empty means the one that the MCP server names.
	Issuer string `json:"issuer,omitempty"`
	// Scopes are asked for where the server names none.
	Scopes []string `json:"scopes,omitzero"`
}
