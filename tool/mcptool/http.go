package mcptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/tool/mcpauth"
)

// errElsewhere is a request to another host than the configured one.
var errElsewhere = errors.New("the server points to another host")

// courier carries the requests of one HTTP server. It adds the configured
// headers, goes nowhere else, bounds what comes back, and tells flights what
// became of them.
type courier struct {
	base    http.RoundTripper
	own     bool // base is the courier's own
	origin  string
	headers http.Header
	max     int
	traffic *traffic // nil where somebody else counts
}

func newCourier(c *Config, o *Options, t *traffic) (*courier, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	k := &courier{base: o.Transport, origin: origin(u), headers: http.Header{}, max: o.MessageBytes}
	if !c.SSE {
		k.traffic = t
	}
	if k.base == nil {
		// One of its own, so that its idle connections end with it.
		k.own = true
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			t = &http.Transport{ForceAttemptHTTP2: true}
		}
		t = t.Clone()
		if t.Proxy, err = proxyOf(c, http.ProxyFromEnvironment); err != nil {
			return nil, err
		}
		k.base = t
	}
	for name, v := range c.Headers {
		k.headers.Set(name, v.Reveal())
	}
	return k, nil
}

// client has no time-out of its own: streams last, and every request has a context.
func (k *courier) client() *http.Client {
	return &http.Client{Transport: k, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		// Servers that want a "/" at the end say so like this. Other redirects
		// would lose the message, or lead it elsewhere.
		code := r.Response.StatusCode
		if origin(r.URL) == k.origin && len(via) <= 3 &&
			(code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect) {
			return nil
		}
		return http.ErrUseLastResponse
	}}
}

func (k *courier) transport(c *Config, o *Options, login *mcpauth.Client) mcp.Transport {
	if c.SSE {
		return &mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: k.client(), MaxEventSize: o.MessageBytes}
	}
	t := &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: k.client(), MaxEventSize: o.MessageBytes}
	switch {
	case login != nil:
		t.OAuthHandler = login
	case o.OAuth != nil:
		t.OAuthHandler = o.OAuth(*c)
	}
	return t
}

func (k *courier) close() {
	if t, ok := k.base.(interface{ CloseIdleConnections() }); ok && k.own {
		t.CloseIdleConnections()
	}
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// RoundTrip implements [http.RoundTripper].
func (k *courier) RoundTrip(r *http.Request) (*http.Response, error) {
	if origin(r.URL) != k.origin {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		if f := flightOf(r.Context()); f != nil {
			f.fail(errElsewhere)
		}
		return nil, errElsewhere
	}
	f := flightOf(r.Context())
	ctx := r.Context()
	id, method := peek(r)
	if f != nil {
		if id != "" {
			f.setID(id)
		}
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: f.setSent})
	}
	r = r.Clone(ctx)
	for name, v := range k.headers {
		if r.Header.Get(name) == "" {
			r.Header[name] = v
		}
	}
	if k.traffic != nil && method == methodCancelled {
		defer k.traffic.notices.Add(-1)
	}
	resp, err := k.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if f != nil {
		f.setStatus(resp.StatusCode)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &cargo{body: resp.Body, max: k.max, flight: f, stream: kind == "text/event-stream" && resp.StatusCode == http.StatusOK}
	return resp, nil
}

// peek reads which message a request carries.
func peek(r *http.Request) (id, method string) {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return "", ""
	}
	body, err := r.GetBody()
	if err != nil {
		return "", ""
	}
	defer body.Close()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(body).Decode(&m); err != nil {
		return "", ""
	}
	return string(m.ID), m.Method
}

// cargo is a response's body with a bound: on the whole of it, or on one event
// of a stream. It reads along to find the answer as the server wrote it.
type cargo struct {
	body   io.ReadCloser
	max    int
	flight *flight
	stream bool

	n     int    // bytes of this event, or of all
	line  []byte // of a stream: the line so far
	data  []byte // of a stream: the data of the event so far; else: the body
	ended bool
	// answered is set once the answer has come: the first one counts, as it does for the SDK.
	answered bool
}

func (c *cargo) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.n += n
	switch {
	case c.stream:
		c.scan(p[:n])
	case c.flight != nil && c.n <= c.max:
		c.data = append(c.data, p[:n]...)
	}
	if c.n > c.max {
		if c.flight != nil {
			c.flight.fail(errTooLarge)
		}
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, c.max)
	}
	if errors.Is(err, io.EOF) && !c.stream && !c.ended {
		c.ended = true
		c.answer()
	}
	return n, err
}

func (c *cargo) Close() error { return c.body.Close() }

// scan follows a stream of server-sent events far enough to know where each
// ends.
func (c *cargo) scan(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.keep(p)
			return
		}
		c.keep(p[:i])
		p = p[i+1:]
		line := bytes.TrimSuffix(c.line, []byte("\r"))
		c.line = c.line[:0]
		if len(line) == 0 {
			c.answer()
			c.n = len(p)
			continue
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && c.flight != nil {
			if len(c.data) > 0 {
				c.data = append(c.data, '\n')
			}
			c.data = append(c.data, bytes.TrimPrefix(data, []byte(" "))...)
		}
	}
}

func (c *cargo) keep(p []byte) {
	if len(c.line)+len(p) <= c.max {
		c.line = append(c.line, p...)
	}
}

// answer tells the flight a whole message, if it is the answer.
func (c *cargo) answer() {
	defer func() { c.data = nil }()
	if c.flight == nil || len(c.data) == 0 {
		return
	}
	if doubled(c.data) {
		c.flight.fail(errDoubled)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(c.data, &m); {
	case err == nil && m.Method == methodElicit:
		var p mcp.ElicitParams
		if json.Unmarshal(m.Params, &p) == nil {
			c.flight.carry(questionKey(&p))
		}
	case err != nil || m.Method != "":
	case m.Error != nil && (len(m.ID) == 0 || string(m.ID) == "null"):
		// Refused before it was read: the SDK takes this for no message at all.
		c.flight.setRefusal(m.Error.Message)
	case string(m.ID) != c.flight.requestID() || c.answered:
	case len(m.Result) > 0:
		c.answered = true
		c.flight.setResult(m.Result)
	case m.Error != nil:
		c.answered = true
		c.flight.setAnswered()
	}
}
