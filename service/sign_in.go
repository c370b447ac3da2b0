package service

import "time"

// SignInLink is a sign-in that is under way.
type SignInLink struct {
	// ID names the sign-in. It is no secret.
	ID string `json:"sign_in_id"`
	// Server is the id of the server, and User the user who signs in; empty for the tenant's runs without a user.
	Server string `json:"mcp_server"`
	User   string `json:"user"`
	// URL is the link that the user opens. It is a secret of the user.
	URL string `json:"url"`
	// Issuer is the authorization server, and Scopes are what it is asked for.
	Issuer string   `json:"issuer"`
	Scopes []string `json:"scopes,omitempty"`
	// Expires is when the link is no longer good.
	Expires time.Time `json:"expires_at"`
}

// SignInAnswer is what an authorization server sent a user's browser back with.
type SignInAnswer struct {
	Code, State, Issuer, Error string
}

// SignIn says who signs in to which MCP server.
type SignIn struct {
	Tenant, Server, User string
}

// SignedIn is a sign-in that has ended.
type SignedIn struct {
	// ID names it in the questions that wait for it.
	ID string
	// Conversations have runs that wait for it.
	Conversations []string
}
