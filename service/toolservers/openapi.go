package toolservers

import (
	"cmp"
	"context"
	"errors"
	"maps"
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

// apiKey identifies the tools of a document. They hold no value of a header, so all connections
// of one version share them.
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

// apiSource is an API for one set of headers.
type apiSource struct {
	api   *openapitool.API
	guard *netguard.Guard
	// values are the headers with tokens or secrets.
	values map[string]secret.Secret
}

// apiOptions returns the options of a server's tools. Headers that differ between runs are
// placeholders, and their values come with the connection. secrets are the names of secret headers.
func apiOptions(s *directory.MCPServer, secrets map[string]secret.Secret) openapitool.Options {
	o := openapitool.Options{
		Name: s.ID, Server: s.URL, Prefix: s.ID + prefixEnd, MaxDocument: mostDocument, MaxOperations: 2 * MostTools, MaxText: mostText,
		Timeout: time.Duration(s.Seconds) * time.Second, Transport: perConnection{}, Fill: fillHeader, OtherSchemes: true,
	}
	if s.Tools != nil {
		o.Only = []string{}
		for _, pattern := range s.Tools {
			o.Only = append(o.Only, s.ID+prefixEnd+pattern)
		}
	}
	o.Headers = make(map[string]secret.Secret, len(s.Headers)+len(secrets))
	for name, text := range s.Headers {
		o.Headers[name] = secret.New(openapitool.Literal(text))
		if t, _ := directory.ParseHeaderTemplate(text); len(t) > 1 {
			o.Headers[name] = placeholder(name)
		}
	}
	for name := range secrets {
		o.Headers[name] = placeholder(name)
	}
	return o
}

// prefixEnd stands between the id of a server and the name of a tool.
const prefixEnd = "___"

func placeholder(header string) secret.Secret { return secret.New("${" + headerMark + header + "}") }

// headerMark begins the names of placeholders that stand for whole headers.
const headerMark = "header "

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

// fillHeader returns the value of a header of the call's connection.
func fillHeader(ctx context.Context, name string) secret.Secret {
	if a := apiOf(ctx); a != nil {
		return a.values[strings.TrimPrefix(name, headerMark)]
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
func (p *Pool) openAPI(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, hidden map[string]secret.Secret) (source,
	error,
) {
	a := &apiSource{values: make(map[string]secret.Secret, len(s.Run.Headers)+len(hidden))}
	for _, from := range []map[string]secret.Secret{s.Run.Headers, hidden} {
		maps.Copy(a.values, from)
	}
	var err error
	timeout := cmp.Or(time.Duration(s.Seconds)*time.Second, 10*time.Minute)
	if a.guard, err = netguard.New(netguard.Options{Allow: p.options.AllowHosts, Timeout: timeout}); err != nil {
		return nil, err
	}
	if a.api, err = p.sharedAPI(ctx, s, store, hidden); err != nil {
		return nil, err
	}
	return a, nil
}

func (p *Pool) sharedAPI(
	ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, hidden map[string]secret.Secret,
) (*openapitool.API, error) {
	key := apiKey{s.Tenant, s.Life, s.ID, s.Version}
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
	document, err := store.MCPDocument(ctx, &s.MCPServer)
	if err == nil {
		one.api, err = openapitool.Load(document, apiOptions(&s.MCPServer, hidden))
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
