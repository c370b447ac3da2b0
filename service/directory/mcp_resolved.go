package directory

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// ResolvedMCPServer is a server with the headers and credentials of one run.
type ResolvedMCPServer struct {
	Server MCPServer
	// Run is what the run adds.
	Run MCPRun
	// Err says why the server cannot be used in this run. nil means that it can.
	Err error
}

// MCPRun is what a run adds to a server.
type MCPRun struct {
	// Headers are the filled headers, without the secret ones.
	Headers map[string]secret.Secret
	// Credentials are the filled templates of credentials, without the secret ones.
	Credentials map[CredentialPart]secret.Secret
	// Tokens are the values that were inserted. They must not appear in what the server answers.
	Tokens []secret.Secret
	// User is the user of the run, who signs in to a server with OAuth.
	User string
}

// MCPStore has what a server needs beside its spec. [Directory] implements it.
type MCPStore interface {
	// MCPSecrets returns the stored secrets of a server in this version.
	MCPSecrets(ctx context.Context, s *MCPServer) (MCPSecrets, error)
	// MCPDocument returns the document of an openapi server in this version.
	MCPDocument(ctx context.Context, s *MCPServer) ([]byte, error)
	// LoadMCPGrant and SaveMCPGrant keep what users have granted.
	LoadMCPGrant(ctx context.Context, k MCPGrantKey) (plain []byte, version int64, err error)
	SaveMCPGrant(ctx context.Context, k MCPGrantKey, plain []byte, info *MCPGrantInfo, version int64) error
	// SealSignIn makes the state of a sign-in.
	SealSignIn(k MCPGrantKey, nonce string) (string, error)
}

// Resolve fills the server's headers and credentials with a run's tokens. It returns the error of
// [HeaderTemplate.Fill] for the first template whose token is missing or cannot be sent.
func (s *MCPServer) Resolve(tokens map[string]secret.Secret) (ResolvedMCPServer, error) {
	r := ResolvedMCPServer{Server: *s}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t, what := ParseHeaderTemplate(s.Headers[name])
		if what != "" { // it was checked when it was written
			return r, invalid("header template", "headers_template: the value of "+headerNamed(name)+" "+what, "change it")
		}
		value, err := t.Fill(tokens)
		if err != nil {
			return r, s.unfilled(err)
		}
		if r.Run.Headers == nil {
			r.Run.Headers = make(map[string]secret.Secret, len(s.Headers))
		}
		r.Run.Headers[name] = value
		for _, token := range t.Names() {
			r.Run.Tokens = append(r.Run.Tokens, tokens[token])
		}
	}
	filled, used, err := fillCredentials(s.Credentials, tokens)
	if err != nil {
		return r, s.unfilled(err)
	}
	r.Run.Credentials, r.Run.Tokens = filled, append(r.Run.Tokens, used...)
	return r, nil
}

// unfilled returns the error of a template that cannot be filled, with the server's id.
func (s *MCPServer) unfilled(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = "the MCP server " + s.ID + " cannot be used: " + e.Message
	return &named
}

// GrantKey names the grant of the run's user for the server.
func (s *ResolvedMCPServer) GrantKey() MCPGrantKey {
	return MCPGrantKey{Tenant: s.Server.Tenant, Server: s.Server.ID, Life: s.Server.Life, User: s.Run.User}
}
