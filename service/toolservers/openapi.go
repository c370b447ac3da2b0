package toolservers

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// apiKey identifies the tools of a document. They hold no value of a header or a credential, so all
// connections of one version share them, and the tokens of OAuth clients that have equal credentials.
type apiKey struct {
	tenant, life, id string
	version          int
}

// sharedAPI is the tools of a document, made once.
type sharedAPI struct {
	ready chan struct{}
	api   *openapitool.API
	err   error
	used  time.Time
}

// apiSource is an API for one set of headers and credentials.
type apiSource struct {
	api   *openapitool.API
	guard *netguard.Guard
	// values are what placeholders stand for.
	values map[string]secret.Secret
}

// apiOptions returns the options of a server's tools. Headers and credentials that differ between
// runs, or are secret, are placeholders. Their values come with the connection.
func apiOptions(s *directory.MCPServer) openapitool.Options {
	o := openapitool.Options{
		Name: s.ID, Server: s.URL, Prefix: s.ID + prefixEnd, MaxDocument: mostDocument, MaxOperations: 2 * MostTools, MaxText: mostText,
		Timeout: time.Duration(s.Seconds) * time.Second, Transport: perConnection{}, Fill: fill,
		Credentials: credentialsOf(s),
	}
	if s.Tools != nil {
		o.Only = []string{}
		for _, pattern := range s.Tools {
			o.Only = append(o.Only, s.ID+prefixEnd+pattern)
		}
	}
	o.Headers = make(map[string]secret.Secret, len(s.Headers)+len(s.SecretHeaders))
	for name, text := range s.Headers {
		o.Headers[name] = secret.New(openapitool.Literal(text))
		if t, _ := directory.ParseHeaderTemplate(text); len(t) > 1 {
			o.Headers[name] = placeholder(headerMark + name)
		}
	}
	for name := range s.SecretHeaders {
		o.Headers[name] = placeholder(headerMark + name)
	}
	return o
}

// credentialsOf returns the credentials of a server. A security scheme takes what it needs of one.
func credentialsOf(s *directory.MCPServer) map[string]openapitool.Credential {
	all := make(map[string]openapitool.Credential, len(s.Credentials)+len(s.SecretCredentials))
	for scheme := range s.SecretCredentials {
		all[scheme] = openapitool.Credential{}
	}
	for scheme, c := range s.Credentials {
		one := openapitool.Credential{TokenURL: c.TokenURL, Scopes: c.Scopes}
		if c.User != "" {
			one.User = "${" + credentialMark(scheme, directory.CredentialUser) + "}"
		}
		if c.ClientID != "" {
			one.ClientID = "${" + credentialMark(scheme, directory.CredentialClientID) + "}"
		}
		all[scheme] = one
	}
	for scheme, one := range all {
		value := placeholder(credentialMark(scheme, directory.CredentialValue))
		one.Token, one.Password, one.ClientSecret = value, value, value
		all[scheme] = one
	}
	return all
}

// prefixEnd stands between the id of a server and the name of a tool.
const prefixEnd = "___"

// placeholder returns a template for a value of the connection. Only values in memory have its name.
func placeholder(mark string) secret.Secret { return secret.New("${" + mark + "}") }

// headerMark begins the names of placeholders that stand for whole headers.
const headerMark = "header "

// credentialMark names the placeholder of a field of a credential.
func credentialMark(scheme, field string) string { return field + " of " + scheme }

type connectionKey struct{}

func withConnection(ctx context.Context, c *connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// apiOf returns the API of the call's connection.
func apiOf(ctx context.Context) *apiSource {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	if c == nil {
		return nil
	}
	a, _ := c.opened().(*apiSource)
	return a
}

// fill returns the value of a placeholder for the call's connection.
func fill(ctx context.Context, mark string) secret.Secret {
	if a := apiOf(ctx); a != nil {
		return a.values[mark]
	}
	return secret.Secret{}
}

// perConnection sends requests through the guard of the call's connection.
type perConnection struct{}

var errNoConnection = errors.New("the call has no connection")

// RoundTrip implements [http.RoundTripper].
func (perConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	if a := apiOf(r.Context()); a != nil {
		return a.guard.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, errNoConnection
}

// openAPI makes the tools of a document, or takes those that are there.
func (p *Pool) openAPI(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, hidden directory.MCPSecrets) (source, error) {
	a := &apiSource{values: map[string]secret.Secret{}}
	for _, from := range []map[string]secret.Secret{s.Run.Headers, hidden.Headers} {
		for name, value := range from {
			a.values[headerMark+name] = value
		}
	}
	for part, value := range s.Run.Credentials {
		a.values[credentialMark(part.Scheme, part.Field)] = value
	}
	for scheme, value := range hidden.Credentials {
		a.values[credentialMark(scheme, directory.CredentialValue)] = value
	}
	var err error
	timeout := cmp.Or(time.Duration(s.Server.Seconds)*time.Second, 10*time.Minute)
	if a.guard, err = netguard.New(netguard.Options{Allow: p.options.AllowHosts, Timeout: timeout}); err != nil {
		return nil, err
	}
	if a.api, err = p.sharedAPI(ctx, s, store); err != nil {
		return nil, err
	}
	return a, nil
}

func (p *Pool) sharedAPI(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (*openapitool.API, error) {
	key := apiKey{s.Server.Tenant, s.Server.Life, s.Server.ID, s.Server.Version}
	p.mu.Lock()
	one := p.apis[key]
	mine := one == nil
	if mine {
		one = &sharedAPI{ready: make(chan struct{})}
		p.apis[key] = one
	}
	one.used = time.Now()
	p.mu.Unlock()
	if !mine {
		select {
		case <-one.ready:
			return one.api, one.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	document, err := store.MCPDocument(ctx, &s.Server)
	if err == nil {
		one.api, err = openapitool.Load(document, apiOptions(&s.Server))
	}
	if err != nil {
		one.err = err
		p.mu.Lock()
		delete(p.apis, key) // the next run tries again
		p.mu.Unlock()
	}
	close(one.ready)
	return one.api, one.err
}

func (a *apiSource) lists() int64 { return 1 }

func (a *apiSource) tools() (list []listedTool) {
	for _, t := range a.api.Tools() {
		if len(list) == MostTools {
			break
		}
		name := strings.TrimPrefix(t.Spec().Name, a.api.Name()+prefixEnd)
		list = append(list, listedTool{t, name, t.Spec().Name})
	}
	return list
}

func (a *apiSource) state() (status, reason string, skipped []event.SkippedTool) {
	skipped = a.api.Skipped()
	if n := len(a.api.Tools()); n > MostTools {
		skipped = append(skipped, event.SkippedTool{
			Why: "the document has " + strconv.Itoa(n) + " operations, and " + strconv.Itoa(MostTools) + " are used; name the ones to use",
		})
	}
	return statusConnected, "", skipped
}

func (*apiSource) calm() bool { return true }

func (*apiSource) instructions() string { return "" }

func (*apiSource) renew(context.Context) {}

func (a *apiSource) close() { a.guard.CloseIdleConnections() }

var _ tool.Optional = (*openapitool.Tool)(nil)
