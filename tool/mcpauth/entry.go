package mcpauth

import (
	"encoding/json"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Entry is what a [Store] keeps of one server for one user. Printing it shows no secrets.
type Entry struct {
	// Grant is what the user has granted; nil for none.
	Grant *Grant
	// Login is the sign-in that is under way; nil for none.
	Login *Login
	// Clients are the clients that were registered dynamically, by issuer.
	Clients map[string]Registered
	// Renewing is until when a process renews the grant; zero if none does.
	Renewing time.Time
}

// Grant is what a user has granted at an authorization server, for one resource.
type Grant struct {
	// Resource is the server's identifier of itself, Issuer the authorization server.
	Resource, Issuer string
	// Scopes are what was granted.
	Scopes []string
	// Asked are the scopes that were asked for.
	Asked []string
	// At is when the user signed in.
	At time.Time
	// Expires is when the access token expires; zero means never.
	Expires time.Time
	// Access and Refresh are the tokens; Refresh may be empty.
	Access, Refresh secret.Secret

	// url is the address of the server that gets the token.
	url       string
	endpoints endpoints
}

// Login is a sign-in that is under way.
type Login struct {
	// ID names the sign-in. It is no secret.
	ID string
	// URL is the link that the user opens.
	URL string
	// Expires is when the sign-in is given up.
	Expires time.Time
	// Resource is the server's identifier of itself, Issuer the authorization server.
	Resource, Issuer string
	// Scopes are asked for.
	Scopes []string
	// For are labels of what waits for the sign-in, at most 16: see [Client.Begin].
	For []string

	// url is the address of the server.
	url      string
	redirect string
	state    secret.Secret
	verifier secret.Secret
	// namesIssuer says that the answer has to name its issuer.
	namesIssuer bool
	endpoints   endpoints
}

// Registered is a client that was registered dynamically.
type Registered struct {
	ID     string
	Secret secret.Secret
	// Redirect is the address that was registered.
	Redirect string
	// Expires is when the secret expires; zero means never.
	Expires time.Time

	style oauth2.AuthStyle
}

// endpoints are those of an authorization server, with the client that may use them.
type endpoints struct {
	token, revoke string
	client        string
	secret        secret.Secret
	style         oauth2.AuthStyle
}

func (e *endpoints) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: e.client, ClientSecret: e.secret.Reveal(), Endpoint: oauth2.Endpoint{TokenURL: e.token, AuthStyle: e.style},
	}
}

// due reports whether the access token must be renewed before it is used.
func (g *Grant) due(now time.Time) bool {
	return !g.Expires.IsZero() && !now.Before(g.Expires.Add(-early)) && !g.Refresh.Empty()
}

// live reports whether the access token can still be used.
func (g *Grant) live(now time.Time) bool { return g.Expires.IsZero() || now.Before(g.Expires) }

// covers reports whether scopes contain all others.
func covers(scopes, others []string) bool {
	return !slices.ContainsFunc(others, func(s string) bool { return !slices.Contains(scopes, s) })
}

// The stored forms, which are encrypted as a whole.
type (
	storedEntry struct {
		Grant    *storedGrant            `json:"grant,omitempty"`
		Login    *storedLogin            `json:"login,omitempty"`
		Clients  map[string]storedClient `json:"clients,omitempty"`
		Renewing time.Time               `json:"renewing,omitzero"`
	}
	storedGrant struct {
		Resource  string          `json:"resource"`
		Issuer    string          `json:"issuer"`
		Scopes    []string        `json:"scopes,omitempty"`
		Asked     []string        `json:"asked,omitempty"`
		At        time.Time       `json:"at,omitzero"`
		Expires   time.Time       `json:"expires,omitzero"`
		Access    string          `json:"access"`
		Server    string          `json:"server"`
		Refresh   string          `json:"refresh,omitempty"`
		Endpoints storedEndpoints `json:"endpoints"`
	}
	storedLogin struct {
		ID          string          `json:"id"`
		URL         string          `json:"url"`
		Expires     time.Time       `json:"expires"`
		Resource    string          `json:"resource"`
		Issuer      string          `json:"issuer"`
		Scopes      []string        `json:"scopes,omitempty"`
		For         []string        `json:"for,omitempty"`
		Server      string          `json:"server"`
		Redirect    string          `json:"redirect"`
		State       string          `json:"state"`
		Verifier    string          `json:"verifier"`
		NamesIssuer bool            `json:"names_issuer,omitempty"`
		Endpoints   storedEndpoints `json:"endpoints"`
	}
	storedClient struct {
		ID       string           `json:"id"`
		Secret   string           `json:"secret,omitempty"`
		Redirect string           `json:"redirect"`
		Expires  time.Time        `json:"expires,omitzero"`
		Style    oauth2.AuthStyle `json:"style"`
	}
	storedEndpoints struct {
		Token  string           `json:"token"`
		Revoke string           `json:"revoke,omitempty"`
		Client string           `json:"client"`
		Secret string           `json:"secret,omitempty"`
		Style  oauth2.AuthStyle `json:"style"`
	}
)

func (e *endpoints) stored() storedEndpoints {
	return storedEndpoints{e.token, e.revoke, e.client, e.secret.Reveal(), e.style}
}

func (e *storedEndpoints) plain() endpoints {
	return endpoints{e.Token, e.Revoke, e.Client, secret.New(e.Secret), e.Style}
}

// Encode returns the entry as JSON, with its secrets. Encrypt it before it is stored.
func (e *Entry) Encode() ([]byte, error) {
	s := storedEntry{Renewing: e.Renewing}
	if g := e.Grant; g != nil {
		s.Grant = &storedGrant{
			g.Resource, g.Issuer, g.Scopes, g.Asked, g.At, g.Expires, g.Access.Reveal(), g.url, g.Refresh.Reveal(), g.endpoints.stored(),
		}
	}
	if l := e.Login; l != nil {
		s.Login = &storedLogin{
			l.ID, l.URL, l.Expires, l.Resource, l.Issuer, l.Scopes, l.For, l.url, l.redirect, l.state.Reveal(), l.verifier.Reveal(), l.namesIssuer,
			l.endpoints.stored(),
		}
	}
	for issuer, c := range e.Clients {
		if s.Clients == nil {
			s.Clients = make(map[string]storedClient, len(e.Clients))
		}
		s.Clients[issuer] = storedClient{c.ID, c.Secret.Reveal(), c.Redirect, c.Expires, c.style}
	}
	return json.Marshal(s)
}

// Decode reads the result of [Entry.Encode]. It returns [event.ErrInvalid] for anything else.
func Decode(data []byte) (*Entry, error) {
	var s storedEntry
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, &event.Error{Op: "mcp sign-in", Kind: event.ErrInvalid, Message: "a stored grant cannot be read", Hint: "sign in again"}
	}
	e := &Entry{Renewing: s.Renewing}
	if g := s.Grant; g != nil {
		e.Grant = &Grant{
			g.Resource, g.Issuer, g.Scopes, g.Asked, g.At, g.Expires, secret.New(g.Access), secret.New(g.Refresh), g.Server, g.Endpoints.plain(),
		}
	}
	if l := s.Login; l != nil {
		e.Login = &Login{
			l.ID, l.URL, l.Expires, l.Resource, l.Issuer, l.Scopes, l.For, l.Server, l.Redirect, secret.New(l.State),
			secret.New(l.Verifier), l.NamesIssuer,
			l.Endpoints.plain(),
		}
	}
	for issuer, c := range s.Clients {
		if e.Clients == nil {
			e.Clients = make(map[string]Registered, len(s.Clients))
		}
		e.Clients[issuer] = Registered{c.ID, secret.New(c.Secret), c.Redirect, c.Expires, c.Style}
	}
	return e, nil
}
