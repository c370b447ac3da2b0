package service

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
