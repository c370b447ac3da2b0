package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcpauth"
)

// OAuth says how this client is known to the authorization server of an MCP server. The zero value registers itself, or
// uses its metadata document.
type OAuth struct {
	// ClientID and ClientSecret are those of a client that is registered there. A secret needs an Issuer.
	ClientID     string
	ClientSecret secret.Secret
	// Issuer is the only authorization server that gets them; "" means the one that the MCP server names.
	Issuer string
	// Scopes are asked for where the server names none.
	Scopes []string
	// CallbackPort is the port on this machine to which the authorization server sends the browser back, where a client is
	// registered with one; 0 means any. It is for a program that listens there, such as braid run.
	CallbackPort int
	// Off means that nobody signs in to this server.
	Off bool
}

// SignInQuestion is how the names of questions begin that ask a user to sign in to a server. Their payload is a [SignIn].
// The host of the agent shows the link, passes what the authorization server sends back to [Servers.CompleteSignIn], and
// answers true; the answer false means that the user does not sign in.
const SignInQuestion = "mcp_sign_in"

// SignIn is what a user needs to sign in to a server.
type SignIn struct {
	// ID names the sign-in. It is no secret.
	ID string `json:"sign_in_id"`
	// Server is the name of the server.
	Server string `json:"server"`
	// URL is the link that the user opens in a browser.
	URL string `json:"url"`
	// Issuer is the authorization server, and Scopes are what it is asked for.
	Issuer string   `json:"issuer"`
	Scopes []string `json:"scopes,omitempty"`
	// Expires is when the link is no longer good, in the format of RFC 3339.
	Expires string `json:"expires_at"`
}

// IsSignIn reports whether a question asks a user to sign in, and returns its details.
func IsSignIn(q *event.Asked) (s SignIn, ok bool) {
	if !strings.HasPrefix(q.Name, SignInQuestion) || json.Unmarshal(q.Payload, &s) != nil {
		return SignIn{}, false
	}
	return s, s.URL != ""
}

// SignInWith returns a function for [Options.SignIn] with the same settings and store for all servers. What a server's
// [Config.OAuth] says takes precedence.
func SignInWith(base mcpauth.Options) func(Config) (*mcpauth.Client, error) {
	return func(c Config) (*mcpauth.Client, error) {
		o := base
		o.Server, o.URL = c.Name, c.URL
		if c.OAuth != nil {
			o.ClientID, o.ClientSecret, o.Issuer, o.Scopes = c.OAuth.ClientID, c.OAuth.ClientSecret, c.OAuth.Issuer, c.OAuth.Scopes
		}
		return mcpauth.New(o)
	}
}

// loginOf returns what signs users in to a server; nil for none.
func loginOf(c *Config, o *Options) (*mcpauth.Client, error) {
	if o.SignIn == nil || c.URL == "" || c.SSE || c.Disabled || c.OAuth != nil && c.OAuth.Off {
		return nil, nil //nolint:nilnil // nobody signs in
	}
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil, nil //nolint:nilnil // the configuration has a credential
		}
	}
	return o.SignIn(*c)
}

// mostSignIns bounds how often one call asks a user to sign in.
const mostSignIns = 3

// errNotSignedIn is the cause of a call that failed because the user did not sign in.
var errNotSignedIn = errors.New("the user did not sign in")

// askSignIn asks the user of a call to sign in. It returns nil once the user says so, [tool.ErrWaits] until then, and an
// error for the model if the user does not sign in.
func (s *server) askSignIn(ctx context.Context, asked int) error {
	if asked >= mostSignIns {
		return fault(s.config.Name, event.ErrUnauthenticated, "still needs the user to sign in, who was asked several times",
			"go on without it", errNotSignedIn)
	}
	l, err := s.login.Begin(ctx, tool.CallOf(ctx).Conversation)
	if err != nil {
		return err
	}
	name := SignInQuestion
	if asked > 0 {
		name = fmt.Sprintf("%s_%d", SignInQuestion, asked+1)
	}
	passOver(ctx, name)
	yes, err := tool.Ask[bool](ctx, fmt.Sprintf("Sign in to the MCP server %q: %s", s.config.Name, l.URL),
		tool.AskFor(event.AskCredential), tool.AskName(name), tool.AskPayload(s.signIn(l)))
	if err == nil && !yes {
		err = fault(s.config.Name, event.ErrPermission, "needs the user to sign in, who declined", "go on without it", errNotSignedIn)
	}
	return err
}

func (s *server) signIn(l *mcpauth.Login) SignIn {
	return SignIn{
		ID: l.ID, Server: s.config.Name, URL: l.URL, Issuer: l.Issuer, Scopes: l.Scopes,
		Expires: l.Expires.UTC().Format("2006-01-02T15:04:05Z"),
	}
}

// signsIn reports whether an error means that the user of a running call can be asked to sign in.
func (s *server) signsIn(ctx context.Context, err error) bool {
	return err != nil && s.login != nil && tool.CallOf(ctx) != nil && ctx.Err() == nil && mcpauth.Needed(err)
}

// newSignIn returns the tool with which a model asks the user to sign in: a server that tells nothing to strangers has no
// other one until then.
func newSignIn(s *server) *Tool {
	return &Tool{
		from: s, server: s.config.Name, name: string(ownSignIn), title: "Sign in", own: ownSignIn,
		hints: Hints{Idempotent: true, OpenWorld: true},
		spec: model.ToolSpec{
			Name: string(ownSignIn), Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			Description: fmt.Sprintf("Asks the user to sign in to the MCP server %q, whose tools need it. "+
				"Call it when the task needs this server, and not otherwise. The user gets a link.", s.config.Name),
		},
		traits: tool.Traits{Effect: event.EffectIdempotent},
	}
}

// callSignIn asks the user to sign in, unless that is done, and says which tools there are then.
func (t *Tool) callSignIn(ctx context.Context) (tool.Output, error) {
	s := t.from
	for asked := 0; ; asked++ {
		_, err := s.session(ctx)
		if _, err := s.login.Granted(ctx); err != nil {
			return tool.Output{}, err
		}
		if err == nil && !s.login.Needed() {
			s.options.Changed(s.config.Name)
			return tool.Text(s.signedIn()), nil
		}
		if err != nil && !mcpauth.Needed(err) {
			return tool.Output{}, err
		}
		if tool.CallOf(ctx) == nil {
			return tool.Output{}, fault(s.config.Name, event.ErrUnauthenticated, "needs the user to sign in", "use Servers.BeginSignIn", err)
		}
		if err := s.askSignIn(ctx, asked); err != nil {
			return tool.Output{}, err
		}
	}
}

// signedIn describes the server's tools for the model.
func (s *server) signedIn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.tools))
	for _, t := range s.tools {
		names = append(names, t.name)
	}
	return "The user is signed in. The server has these tools: " + shorten.Text(strings.Join(names, ", "), 2000, "…")
}

// noteSignIn decides whether the server offers the tool to sign in: it has asked for a sign-in, or one was made.
func (s *server) noteSignIn(ctx context.Context) {
	if s.login == nil {
		return
	}
	offered := s.login.Needed()
	if !offered {
		g, err := s.login.Granted(ctx)
		offered = err == nil && g != nil
	}
	s.mu.Lock()
	if s.offersSignIn != offered {
		s.lists++ // the tools of the server are others now
	}
	s.offersSignIn = offered
	s.mu.Unlock()
}

// BeginSignIn begins to sign the user in to a server beside any run. It returns [event.ErrNotFound] if there is no such
// server, and [event.ErrUnsupported] if nobody signs in to it.
func (s *Servers) BeginSignIn(ctx context.Context, server string) (SignIn, error) {
	one, err := s.signInServer(server)
	if err != nil {
		return SignIn{}, err
	}
	l, err := one.login.Begin(ctx, "")
	if err != nil {
		return SignIn{}, err
	}
	return one.signIn(l), nil
}

// CompleteSignIn ends a sign-in with the address that the authorization server sent the user back to, or its query. It
// returns the name of the server. See [mcpauth.Client.Complete] for its errors.
func (s *Servers) CompleteSignIn(ctx context.Context, address string) (server string, err error) {
	a, err := mcpauth.ParseAnswer(address)
	if err != nil {
		return "", err
	}
	var unknown error
	for _, one := range s.list {
		if one.login == nil {
			continue
		}
		_, err := one.login.Complete(ctx, a)
		if errors.Is(err, event.ErrNotFound) {
			unknown = err
			continue
		}
		return one.config.Name, err
	}
	if unknown == nil {
		unknown = &event.Error{Op: "mcp sign-in", Kind: event.ErrNotFound, Message: "no such sign-in is under way", Hint: "begin again"}
	}
	return "", unknown
}

// SignOut forgets the user's grant for a server and asks its authorization server to end it. told reports whether that
// one did. The connection ends. The errors are those of [Servers.BeginSignIn].
func (s *Servers) SignOut(ctx context.Context, server string) (told bool, err error) {
	one, err := s.signInServer(server)
	if err != nil {
		return false, err
	}
	told, err = one.login.Revoke(ctx)
	one.mu.Lock()
	session := one.one
	one.mu.Unlock()
	if session != nil {
		one.drop(session)
	}
	return told, err
}

// Granted reports whether there is a grant for a server now, also one that another process got. It is false for a server
// without users that sign in.
func (s *Servers) Granted(ctx context.Context, server string) bool {
	one, err := s.signInServer(server)
	if err != nil {
		return false
	}
	g, err := one.login.Granted(ctx)
	return err == nil && g != nil
}

func (s *Servers) signInServer(name string) (*server, error) {
	i := slices.IndexFunc(s.list, func(one *server) bool { return one.config.Name == name })
	switch {
	case i < 0:
		return nil, fault(name, event.ErrNotFound, "does not exist", "check its name", nil)
	case s.list[i].login == nil:
		return nil, fault(name, event.ErrUnsupported, "has no users that sign in",
			"set Options.SignIn; a server with an Authorization header needs none", nil)
	}
	return s.list[i], nil
}

// needsSignIn reports whether a request failed because the user has to sign in.
func (s *server) needsSignIn(err error, status int) bool {
	if s.login == nil {
		return false
	}
	return mcpauth.Needed(err) || s.login.Needed() && (status == http.StatusUnauthorized || status == http.StatusForbidden)
}

func (s *server) signInFault(cause error) error {
	e := fault(s.config.Name, event.ErrUnauthenticated, "needs the user to sign in", "open the link of the question, then try again", cause)
	e.Code = mcpauth.CodeSignIn
	return e
}
