package openapitool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

const op = "openapi"

// API is an OpenAPI document as a source of tools. Its methods are safe for concurrent use.
type API struct {
	name    string
	options Options
	tools   []tool.Tool
	client  *http.Client
	own     *http.Transport
	tokens  tokens
	headers map[string]template
	schemes []string

	mu      sync.Mutex
	skipped []event.SkippedTool
}

var _ tool.ServerSource = (*API)(nil)

// Open reads a document from a file or, if the name begins with http:// or https://, from the network. See [Load].
func Open(ctx context.Context, name string, o Options) (*API, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return Fetch(ctx, name, o)
	}
	o = o.withDefaults()
	f, err := os.Open(name) //nolint:gosec // the caller names it
	if err != nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrNotFound, Message: "the OpenAPI document cannot be read", Hint: "Name a file or a URL.", Err: err,
		}
	}
	defer f.Close()
	data, err := readMost(f, o.MaxDocument)
	if err != nil {
		return nil, err
	}
	return load(data, nil, o)
}

// Fetch reads a document from a URL, with [Options.Transport]. Relative addresses of servers refer to this URL. See [Load].
func Fetch(ctx context.Context, address string, o Options) (*API, error) {
	o = o.withDefaults()
	failed := func(kind event.ErrorKind, why string, err error) (*API, error) {
		return nil, &event.Error{
			Op: op, Kind: kind, Message: "the OpenAPI document cannot be fetched" + why, Hint: "Check its URL, or save it in a file.", Err: err,
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || r.URL.Host == "" || r.URL.User != nil {
		return failed(event.ErrInvalid, ": its URL is not valid", err)
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	client := &http.Client{Transport: o.Transport, CheckRedirect: sameOriginOnly}
	resp, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*event.Error](err); ok {
			return nil, e
		}
		return failed(event.ErrUnavailable, "", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return failed(event.ErrUnavailable, fmt.Sprintf(": the status is %d", resp.StatusCode), nil)
	}
	data, err := readMost(resp.Body, o.MaxDocument)
	if err != nil {
		return nil, err
	}
	return load(data, r.URL, o)
}

// readMost reads at most so many bytes.
func readMost(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnavailable, Message: "the OpenAPI document cannot be read to its end", Hint: "Try again.", Err: err,
		}
	}
	return data, nil
}

// Load makes the tools of a document, JSON or YAML. It returns an error of kind [event.ErrInvalid] if the document cannot be
// read, [event.ErrTooLarge] if it has more than [Options.MaxDocument] bytes, and [event.ErrUnsupported] if none of its operations
// can be called. One operation that cannot be called is left out; see [API.Skipped].
func Load(data []byte, o Options) (*API, error) { return load(data, nil, o.withDefaults()) }

func load(data []byte, base *url.URL, o Options) (*API, error) {
	if len(data) > o.MaxDocument {
		return nil, &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: fmt.Sprintf("the OpenAPI document is larger than %d bytes", o.MaxDocument),
			Hint: "Leave out what is not needed, or raise MaxDocument.",
		}
	}
	doc, err := newDocument(data, base)
	if err != nil {
		return nil, invalid("the OpenAPI document "+err.Error(), "Correct the document.", err)
	}
	l := &loader{options: &o, doc: doc, api: &API{name: line(o.Name, 100), options: o}}
	if o.Name == "" {
		l.api.name = line(doc.title(), 100)
	}
	if err := l.read(); err != nil {
		return nil, err
	}
	return l.api, nil
}

func invalid(message, hint string, cause error) *event.Error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint, Err: cause}
}

// loader makes the tools of one document.
type loader struct {
	options  *Options
	doc      *document
	api      *API
	schemes  map[string]*scheme
	security []map[string][]string
	servers  []wireServer
	taken    map[string]bool
}

func (l *loader) read() error {
	for _, pattern := range l.options.Only {
		if _, err := path.Match(pattern, ""); err != nil {
			return invalid(fmt.Sprintf("the pattern %.50q cannot be read", pattern), "Write a name or a pattern such as get_*.", err)
		}
	}
	for _, part := range []struct {
		name string
		into any
	}{{"security", &l.security}, {"servers", &l.servers}} {
		if raw := l.doc.top[part.name]; raw != nil && json.Unmarshal(raw, part.into) != nil {
			return invalid("the OpenAPI document has a part "+part.name+" of the wrong type", "Correct the document.", nil)
		}
	}
	if err := l.readSchemes(); err != nil {
		return err
	}
	if err := l.readHeaders(); err != nil {
		return err
	}
	l.api.schemes = slices.Sorted(maps.Keys(l.doc.parts["securitySchemes"]))
	l.connect()
	l.taken = map[string]bool{}
	for _, name := range l.options.Reserved {
		l.taken[name] = true
	}
	if paths := l.doc.top["paths"]; paths != nil {
		if err := members(paths, l.path); err != nil {
			return invalid("the OpenAPI document has paths that cannot be read: "+err.Error(), "Correct the document.", err)
		}
	}
	if len(l.api.tools) > 0 {
		return nil
	}
	message := "the OpenAPI document has no operations"
	if len(l.api.skipped) > 0 {
		message = "no operation of the OpenAPI document can be called; the first one " + l.api.skipped[0].Why
	}
	return &event.Error{Op: op, Kind: event.ErrUnsupported, Message: message, Hint: "Use another document."}
}

func (l *loader) readHeaders() (err error) {
	l.api.headers = map[string]template{}
	for name, value := range l.options.Headers {
		if !legalHeader(name) || slices.Contains(unsettable, http.CanonicalHeaderKey(name)) && http.CanonicalHeaderKey(name) != "Authorization" {
			return invalid(fmt.Sprintf("the header %.50q cannot be set", name), "Use another header.", nil)
		}
		if l.api.headers[name], err = newTemplate(value); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the client. Without a transport of the options the API has one of its own, so that its connections end with it.
func (l *loader) connect() {
	transport := l.options.Transport
	if transport == nil {
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			l.api.own = t.Clone()
			transport = l.api.own
		}
	}
	l.api.client = &http.Client{Transport: transport, CheckRedirect: sameOriginOnly}
}

// sameOriginOnly follows up to three redirects of requests without a body, on the same server.
func sameOriginOnly(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) <= 3 && (first.Method == http.MethodGet || first.Method == http.MethodHead) &&
		r.URL.Scheme == first.URL.Scheme && strings.EqualFold(r.URL.Host, first.URL.Host) {
		return nil
	}
	return http.ErrUseLastResponse
}

// path makes the tools of one path.
func (l *loader) path(name string, raw []byte) error {
	if strings.HasPrefix(name, "x-") {
		return nil
	}
	var item struct {
		Ref        string            `json:"$ref"`
		Parameters []json.RawMessage `json:"parameters"`
		Servers    []wireServer      `json:"servers"`
	}
	found := map[string][]byte{}
	collect := func(raw []byte) error {
		return members(raw, func(key string, v []byte) error {
			var into any
			switch key {
			case "$ref":
				into = &item.Ref
			case "parameters":
				into = &item.Parameters
			case "servers":
				into = &item.Servers
			default:
				if _, ok := methods[key]; ok {
					found[key] = v
				}
				return nil
			}
			if json.Unmarshal(v, into) != nil {
				return errPart
			}
			return nil
		})
	}
	err := collect(raw)
	if err == nil && item.Ref != "" {
		var target []byte
		if target, err = l.doc.at(item.Ref); err == nil {
			err = collect(target)
		}
	}
	if err != nil {
		l.skip(name, err)
		return nil
	}
	for _, method := range slices.Sorted(maps.Keys(found)) {
		l.operation(method, name, found[method], item.Parameters, item.Servers)
	}
	return nil
}

// operation makes the tool of one operation, or notes why there is none.
func (l *loader) operation(method, path string, raw []byte, shared []json.RawMessage, servers []wireServer) {
	w, err := readOperation(raw)
	name := toolName(l.options.Prefix, w.id, method, path, l.taken)
	if !l.wanted(name) {
		return
	}
	if err == nil && len(l.api.tools) >= l.options.MaxOperations {
		err = fmt.Errorf("is left out: the document has more than %d operations", l.options.MaxOperations)
	}
	for _, s := range [][]wireServer{servers, l.servers} {
		if len(w.servers) == 0 {
			w.servers = s
		}
	}
	var o *operation
	if err == nil {
		o, err = l.build(method, path, shared, &w, w.servers)
	}
	if err != nil {
		l.skip(name, err)
		return
	}
	l.api.tools = append(l.api.tools, newTool(l.api, name, method, path, &w, o))
}

func (l *loader) wanted(name string) bool {
	return l.options.Only == nil || slices.ContainsFunc(l.options.Only, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// mostSkipped bounds the operations whose reasons are kept.
const mostSkipped = 1000

func (l *loader) skip(name string, why error) { l.api.leftOut(line(name, 200), why.Error()) }

func (a *API) leftOut(name, why string) {
	one := event.SkippedTool{Tool: name, Why: line(why, 500)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.skipped) < mostSkipped && !slices.Contains(a.skipped, one) {
		a.skipped = append(a.skipped, one)
	}
}

// Name returns the name of the API.
func (a *API) Name() string { return a.name }

// Schemes returns the names of the document's security schemes.
func (a *API) Schemes() []string { return slices.Clone(a.schemes) }

// Tools implements [tool.Source]: one [*Tool] for each operation, in the order of the document.
func (a *API) Tools() []tool.Tool { return slices.Clone(a.tools) }

// Instructions implements [tool.Source]. There are none: the document's texts are not instructions.
func (a *API) Instructions() string { return "" }

// Skipped lists the operations that are left out, by an agent or from the start, and why.
func (a *API) Skipped() []event.SkippedTool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.skipped)
}

// searchAbove is the number of operations that a model is shown without a search.
const searchAbove = 50

// SearchAbove implements [tool.ManySource].
func (*API) SearchAbove() int { return searchAbove }

// ToolServers implements [tool.ServerSource].
func (a *API) ToolServers() []event.ToolServer {
	return []event.ToolServer{{Name: a.name, Status: "connected", Skipped: a.Skipped()}}
}

// Close closes idle connections. Calls after it still work.
func (a *API) Close() error {
	if a.own != nil {
		a.own.CloseIdleConnections()
	}
	return nil
}
