package openapitool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// operation is an operation of the document, ready to be called.
type operation struct {
	method string
	// base is the address of the server, without a final "/".
	base *url.URL
	// path has literal parts and names of parameters, in turns.
	path []string
	// query is a fixed query that the path ends with.
	query      string
	parameters []*parameter
	body       *body
	security   []requirement
	schema     json.RawMessage
}

// parameter is a parameter of an operation.
type parameter struct {
	// key is its name as an argument.
	key                         string
	name, in                    string
	style                       string
	explode, reserved, required bool
	// json is set if the value is sent as JSON.
	json bool
	// byDefault is sent if a required value is missing.
	byDefault json.RawMessage
	schema    any
}

//nolint:tagliatelle // OpenAPI's names
type wireParameter struct {
	Name          string          `json:"name"`
	In            string          `json:"in"`
	Description   string          `json:"description"`
	Style         string          `json:"style"`
	Explode       *bool           `json:"explode"`
	AllowReserved bool            `json:"allowReserved"`
	Required      bool            `json:"required"`
	Schema        json.RawMessage `json:"schema"`
	Content       map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

type wireServer struct {
	URL       string `json:"url"`
	Variables map[string]struct {
		Default string   `json:"default"`
		Enum    []string `json:"enum"`
	} `json:"variables"`
}

// wireOperation has the members of an operation that are read.
type wireOperation struct {
	id, summary, description string
	parameters               []json.RawMessage
	body                     json.RawMessage
	security                 []map[string][]string
	hasSecurity              bool
	servers                  []wireServer
}

var errPart = errors.New("has a part of the wrong type")

func readOperation(raw []byte) (w wireOperation, err error) {
	err = members(raw, func(key string, v []byte) error {
		var into any
		switch key {
		case "operationId":
			into = &w.id
		case "summary":
			into = &w.summary
		case "description":
			into = &w.description
		case "parameters":
			into = &w.parameters
		case "requestBody":
			w.body = v
			return nil
		case "security":
			w.hasSecurity, into = true, &w.security
		case "servers":
			into = &w.servers
		default:
			return nil
		}
		if json.Unmarshal(v, into) != nil {
			return errPart
		}
		return nil
	})
	return w, err
}

// methods are the operations of a path, with what repeating them does.
var methods = map[string]event.Effect{
	"get": event.EffectPure, "head": event.EffectPure, "put": event.EffectIdempotent, "delete": event.EffectIdempotent,
	"post": event.EffectUnsafe, "patch": event.EffectUnsafe, "options": event.EffectPure, "trace": event.EffectPure, "query": event.EffectPure,
}

// unsettable lists headers that belong to the connection, and those that OpenAPI takes from elsewhere.
var unsettable = []string{
	"Accept", "Authorization", "Connection", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

func settable(header string) bool {
	name := http.CanonicalHeaderKey(header)
	return legalHeader(header) && !slices.Contains(unsettable, name) && !strings.HasPrefix(name, "Proxy-")
}

func legalHeader(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return name != ""
}

// build makes an operation of a path.
func (l *loader) build(method, path string, shared []json.RawMessage, w *wireOperation, servers []wireServer) (*operation, error) {
	op := &operation{method: strings.ToUpper(method)}
	var err error
	if op.base, err = l.server(servers); err != nil {
		return nil, err
	}
	op.path, op.query, err = splitPath(path)
	if err != nil {
		return nil, err
	}
	op.security = l.requirements(w)
	uses, properties := map[string]bool{}, map[string]any{}
	required, err := l.readParameters(op, append(slices.Clone(w.parameters), shared...), uses, properties)
	if err != nil {
		return nil, err
	}
	if w.body != nil && method != "get" && method != "head" && method != "trace" {
		if op.body, err = l.readBody(w.body, uses); err != nil {
			return nil, err
		}
	}
	if op.body != nil {
		op.body.key = unique("body", "request body", keysOf(properties))
		properties[op.body.key] = op.body.schema
		if op.body.required {
			required = append(required, op.body.key)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	if err := l.doc.withDefinitions(schema, uses); err != nil {
		return nil, err
	}
	if op.schema, err = json.Marshal(schema); err != nil {
		return nil, err
	}
	if l.doc.bytes -= len(op.schema); len(op.schema) > 1<<20 || l.doc.bytes < 0 {
		return nil, errLarge
	}
	return op, nil
}

func keysOf(m map[string]any) map[string]bool {
	keys := make(map[string]bool, len(m))
	for k := range m {
		keys[k] = true
	}
	return keys
}

// readParameters reads the parameters of an operation, those of its path last, and adds them to the properties.
func (l *loader) readParameters(op *operation, list []json.RawMessage, uses map[string]bool, properties map[string]any) ([]string, error) {
	known, keys := map[string]bool{}, map[string]bool{}
	var required []string
	for _, raw := range list {
		var w wireParameter
		if err := l.doc.read(raw, &w); err != nil {
			return nil, err
		}
		if known[w.In+" "+w.Name] || l.hides(op, &w) {
			continue
		}
		known[w.In+" "+w.Name] = true
		p, err := l.parameter(&w, uses)
		if err != nil {
			return nil, fmt.Errorf("%w (the parameter %.100q)", err, w.Name)
		}
		key := legal(w.Name)
		if keys[key] {
			key += "_" + w.In
		}
		p.key = unique(key, w.In+" "+w.Name, keys)
		op.parameters = append(op.parameters, p)
		properties[p.key] = described(p.schema, w.Description)
		if p.required && p.byDefault == nil {
			required = append(required, p.key)
		}
	}
	for i := 1; i < len(op.path); i += 2 {
		if !known["path "+op.path[i]] {
			return nil, fmt.Errorf("has the parameter %.100q in its path, and does not describe it", op.path[i])
		}
	}
	return required, nil
}

// hides reports whether a parameter is not an argument: the operator, a credential or HTTP itself sets it.
func (l *loader) hides(op *operation, w *wireParameter) bool {
	switch w.In {
	case "path":
		for i := 1; i < len(op.path); i += 2 {
			if op.path[i] == w.Name {
				return false
			}
		}
		return true
	case "header":
		if !settable(w.Name) || strings.EqualFold(w.Name, l.options.IdempotencyHeader) {
			return true
		}
		for name := range l.options.Headers {
			if strings.EqualFold(w.Name, name) {
				return true
			}
		}
	}
	for _, r := range op.security {
		for _, s := range r {
			if s.in == w.In && (s.name == w.Name || w.In == "header" && strings.EqualFold(s.name, w.Name)) {
				return true
			}
		}
	}
	return false
}

// styles lists the styles of each place; the first one is the default.
var styles = map[string][]string{
	"path": {"simple", "label", "matrix"}, "query": {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
	"header": {"simple"}, "cookie": {"form", "cookie"},
}

func (l *loader) parameter(w *wireParameter, uses map[string]bool) (*parameter, error) {
	p := &parameter{name: w.Name, in: w.In, style: w.Style, reserved: w.AllowReserved, required: w.Required || w.In == "path"}
	legalStyles, ok := styles[w.In]
	if !ok {
		return nil, fmt.Errorf("is in %.20q, which is not supported", w.In)
	}
	if p.style == "" {
		p.style = legalStyles[0]
	}
	if !slices.Contains(legalStyles, p.style) {
		return nil, fmt.Errorf("has the style %.20q, which is not for %s", p.style, w.In)
	}
	p.explode = p.style == "form" || p.style == "deepObject" || p.style == "cookie"
	if w.Explode != nil {
		p.explode = *w.Explode
	}
	raw := w.Schema
	for kind, c := range w.Content {
		if !isJSON(kind) && len(w.Content) > 1 {
			continue
		}
		raw, p.json = c.Schema, isJSON(kind)
	}
	p.schema = map[string]any{}
	if len(raw) > 0 {
		var err error
		if p.schema, err = l.doc.convert(raw, uses); err != nil {
			return nil, err
		}
	}
	if m, ok := p.schema.(map[string]any); ok && m["default"] != nil {
		p.byDefault, _ = json.Marshal(m["default"]) //nolint:errchkjson // it was JSON
	}
	return p, nil
}

// described is a schema with a description, unless it has one.
func described(schema any, text string) any {
	m, ok := schema.(map[string]any)
	if !ok {
		m = map[string]any{}
		if schema == false {
			m["not"] = map[string]any{}
		}
	}
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	if text = cut(strings.TrimSpace(text), 2000); text != "" {
		out["description"] = text
	}
	return out
}

// splitPath takes the path of an operation apart.
func splitPath(path string) (parts []string, query string, err error) {
	path, _, _ = strings.Cut(path, "#") // some documents tell operations of one path apart in this way; it is never sent
	path, query, _ = strings.Cut(path, "?")
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(query, "{}") {
		return nil, "", errors.New("has a path that cannot be called")
	}
	for {
		before, rest, found := strings.Cut(path, "{")
		parts = append(parts, escapeLiteral(before))
		if !found {
			return parts, escapeLiteral(query), nil
		}
		name, rest, found := strings.Cut(rest, "}")
		if !found || name == "" {
			return nil, "", errors.New("has a path that cannot be called")
		}
		parts, path = append(parts, name), rest
	}
}

// escapeLiteral escapes what a URL cannot contain, and nothing twice.
func escapeLiteral(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c > ' ' && c < 0x7f && strings.IndexByte("\"<>\\^`{|}", c) < 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// server returns the address that an operation is called at.
func (l *loader) server(servers []wireServer) (*url.URL, error) {
	text := l.options.Server
	if text == "" {
		if len(servers) == 0 {
			servers = []wireServer{{URL: "/"}}
		}
		s := servers[0]
		text = s.URL
		for name, v := range s.Variables {
			value := v.Default
			if set, ok := l.options.Variables[name]; ok {
				value = set
			}
			if len(v.Enum) > 0 && !slices.Contains(v.Enum, value) {
				return nil, fmt.Errorf("has a server whose variable %.50q cannot be %.50q", name, value)
			}
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
	}
	u, err := url.Parse(text)
	if err == nil && l.doc.base != nil {
		u = l.doc.base.ResolveReference(u)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(text, "{}") {
		return nil, errors.New("has no server with an address; name one")
	}
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}
