package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// BeginSignIn begins to sign a user in to a server of a tenant beside any run, or returns the sign-in that is under way. by may be
// the user, or who administrates the tenant. It returns [event.ErrNotFound] if the tenant has no such active server, and
// [event.ErrUnsupported] if nobody signs in to it.
func (s *Service) BeginSignIn(ctx context.Context, by directory.By, tenant, server, user string) (SignInLink, error) {
	d := s.options.Directory
	if d == nil {
		return SignInLink{}, directory.NoMCPServer("sign in")
	}
	m, err := d.GetMCPServer(ctx, tenant, server, 0)
	if err != nil {
		return SignInLink{}, err
	}
	if s.options.ToolServers == nil {
		return SignInLink{}, noToolServers("sign in")
	}
	if m.Status != directory.Active {
		return SignInLink{}, &event.Error{
			Op: "sign in", Kind: event.ErrConflict, Code: "MCP_SERVER_INACTIVE", Message: "the MCP server " + m.ID + " is not active",
			Hint: "activate it first",
		}
	}
	r := &directory.ResolvedMCPServer{Server: m, Run: directory.MCPRun{User: user}}
	if err := r.GrantKey().Check(); err != nil {
		return SignInLink{}, err
	}
	l, err := s.options.ToolServers.BeginSignIn(ctx, r, d)
	if err != nil {
		return SignInLink{}, err
	}
	l.Server, l.User = m.ID, user
	return l, d.RecordMCPGrant(ctx, by, r.GrantKey(), "mcp-grant.begin")
}

// PeekSignIn says who signs in to which server with an answer, and changes nothing. It returns [event.ErrNotFound] if no
// such sign-in is under way. The state of the answer is the credential: only the one who began the sign-in, and the
// authorization server, know it.
func (s *Service) PeekSignIn(ctx context.Context, a SignInAnswer) (SignIn, error) {
	in, r, err := s.signInOf(ctx, a.State)
	if err != nil {
		return SignIn{}, err
	}
	return in, s.options.ToolServers.PeekSignIn(ctx, r, s.options.Directory, a)
}

// CompleteSignIn ends a sign-in and answers the questions of the runs that wait for it. It returns
// [event.ErrNotFound] if no such sign-in is under way, and [event.ErrPermission] if the user has refused.
func (s *Service) CompleteSignIn(ctx context.Context, a SignInAnswer) (SignIn, error) {
	in, r, err := s.signInOf(ctx, a.State)
	if err != nil {
		return SignIn{}, err
	}
	done, err := s.options.ToolServers.CompleteSignIn(ctx, r, s.options.Directory, a)
	if done.ID == "" {
		return in, err
	}
	// The questions are answered also if the browser leaves now. A sign-in that failed, but not by the user's will, is
	// asked for again by the call that needs it.
	ctx = context.WithoutCancel(ctx)
	action := "mcp-grant.sign-in"
	if err != nil {
		action = "mcp-grant.failed"
	}
	if err := s.options.Directory.RecordMCPGrant(ctx, directory.By{Tenant: in.Tenant, User: in.User}, r.GrantKey(), action); err != nil {
		s.log.Warn("a sign-in was not written to the audit", "tenant", in.Tenant, "error", err)
	}
	for _, conversation := range done.Conversations {
		if err := s.answerSignIn(ctx, in, conversation, done.ID, !errors.Is(err, event.ErrPermission)); err != nil {
			s.log.Warn("the question of a sign-in was not answered", "tenant", in.Tenant, "conversation", conversation, "error", err)
		}
	}
	return in, err
}

// signInOf returns the sign-in of a state, with its server. It says the same of every state that is not one.
func (s *Service) signInOf(ctx context.Context, state string) (SignIn, *directory.ResolvedMCPServer, error) {
	d := s.options.Directory
	if d == nil || s.options.ToolServers == nil {
		return SignIn{}, nil, noToolServers("sign in")
	}
	k, err := d.OpenSignIn(state)
	if err != nil {
		return SignIn{}, nil, err
	}
	unknown := &event.Error{
		Op: "sign in", Kind: event.ErrNotFound, Code: "MCP_SIGN_IN_NOT_FOUND",
		Message: "there is no such sign-in: it has ended, or was completed before",
		Hint:    "begin again",
	}
	if _, err := d.Tenant(ctx, k.Tenant); err != nil {
		return SignIn{}, nil, unknown // it is inactive, or gone
	}
	m, err := d.GetMCPServer(ctx, k.Tenant, k.Server, 0)
	if err != nil {
		return SignIn{}, nil, err
	}
	if m.Status != directory.Active || m.OAuth == nil {
		return SignIn{}, nil, unknown
	}
	return SignIn{k.Tenant, k.Server, k.User}, &directory.ResolvedMCPServer{Server: m, Run: directory.MCPRun{User: k.User}}, nil
}

// signInQuestion is how the names of questions begin that ask a user to sign in to an MCP server.
const signInQuestion = "mcp_sign_in"

// answerSignIn answers the open question of a conversation that waits for a sign-in. There may be none any more.
func (s *Service) answerSignIn(ctx context.Context, in SignIn, conversation, id string, yes bool) error {
	p := Principal{Tenant: in.Tenant, User: in.User}
	open, err := s.Questions(ctx, p, conversation)
	if err != nil {
		return err
	}
	for i := range open {
		var payload struct {
			ID string `json:"sign_in_id"`
		}
		if !strings.HasPrefix(open[i].Name, signInQuestion) || json.Unmarshal(open[i].Payload, &payload) != nil || payload.ID != id {
			continue
		}
		answer, err := json.Marshal(yes)
		if err != nil {
			return err
		}
		if _, err := s.Answer(ctx, p, conversation, open[i].Token, answer); err != nil {
			return err
		}
	}
	return nil
}

// RevokeMCPGrant ends a user's grant for a server, here and at the authorization server. by may be the user, or who
// administrates the tenant. It returns [event.ErrNotFound] if there is none.
func (s *Service) RevokeMCPGrant(ctx context.Context, by directory.By, tenant, server, grant string) error {
	d := s.options.Directory
	if d == nil {
		return noToolServers("revoke grant")
	}
	g, err := d.GetMCPGrant(ctx, tenant, server, grant)
	if err != nil {
		return err
	}
	m, err := d.GetMCPServer(ctx, tenant, server, 0)
	if err != nil {
		return err
	}
	r := &directory.ResolvedMCPServer{Server: m, Run: directory.MCPRun{User: g.User}}
	if m.OAuth == nil || s.options.ToolServers == nil { // nothing can be told to the authorization server
		_, version, err := d.LoadMCPGrant(ctx, r.GrantKey())
		if err == nil {
			err = d.SaveMCPGrant(ctx, r.GrantKey(), nil, nil, version)
		}
		if err != nil {
			return err
		}
	} else if err := s.options.ToolServers.SignOut(ctx, r, d); err != nil {
		return err
	}
	return d.RecordMCPGrant(ctx, by, r.GrantKey(), "mcp-grant.revoke")
}
