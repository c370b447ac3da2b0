package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/tool/mcpauth"
)

const (
	// lastEra is the newest version that begins with "initialize".
	lastEra = "2025-11-25"
	// greetingTime is how long a server may think about the newer greeting,
	// which old ones may leave unanswered, before it gets the older one.
	greetingTime = 5 * time.Second
	// greetingTimeHTTP is the same for a server at a URL. An old one refuses the newer greeting at once; one that starts
	// when it is asked, or looks a new grant up, may take ten seconds.
	greetingTimeHTTP = 12 * time.Second
	// maxPages bounds the pages of one list.
	maxPages = 1000
)

// session is one connection to a server, from its greeting to its end. Its life
// hangs on no request: it is ended by close, or by the server.
type session struct {
	cs      *mcp.ClientSession
	p       *process
	courier *courier
	cancel  context.CancelFunc
	// over is closed when the connection has ended, whoever ended it.
	over chan struct{}

	traffic   traffic
	tokens    atomic.Int64
	mu        sync.Mutex
	listeners map[string]func(*mcp.ProgressNotificationParams)
	// open are the calls whose server may ask in the middle.
	open map[*openCall]*flight
}

// connect greets the server, within ctx. The session outlives ctx.
func (s *server) connect(ctx context.Context) (*session, error) {
	patience := greetingTime
	if s.config.URL != "" {
		patience = greetingTimeHTTP
	}
	one, err := s.greet(ctx, s.options.Protocol, patience)
	if err == nil || ctx.Err() != nil || s.options.Protocol != "" {
		return one, err
	}
	// Some programs end when they are greeted in words that they do not know. And
	// some that know the newer words only are slow to start.
	e, _ := errors.AsType[*event.Error](err)
	switch {
	case s.config.Command == "" || e == nil || e.Kind != event.ErrUnavailable:
		return nil, err
	case serverError(err, nil) != nil:
		one, again := s.greet(ctx, "", s.options.ConnectTimeout)
		if again != nil {
			return nil, err
		}
		return one, nil
	default:
		one, again := s.greet(ctx, lastEra, greetingTime)
		if again != nil {
			return nil, err
		}
		return one, nil
	}
}

// greet connects once.
func (s *server) greet(ctx context.Context, protocol string, patience time.Duration) (*session, error) {
	one := &session{over: make(chan struct{}), listeners: map[string]func(*mcp.ProgressNotificationParams){}}
	var transport mcp.Transport
	switch {
	case s.config.Dial != nil:
		t, err := s.config.Dial(ctx)
		if err != nil {
			return nil, fault(s.config.Name, event.ErrUnavailable, "cannot be reached", "see that it runs, then try again", err)
		}
		transport = tappedTransport{t, &one.traffic}
	case s.config.Command != "":
		if err := s.mayStart(time.Now()); err != nil {
			return nil, err
		}
		p, err := start(&s.config, &s.options)
		if err != nil {
			return nil, err
		}
		one.p = p
		transport = &childTransport{p: p, max: s.options.MessageBytes, traffic: &one.traffic}
	default:
		k, err := newCourier(&s.config, &s.options, &one.traffic)
		if err != nil {
			return nil, err
		}
		one.courier = k
		transport = k.transport(&s.config, &s.options, s.login)
		if s.config.SSE {
			transport = tappedTransport{transport, &one.traffic}
		}
	}
	// The SDK keeps the context of Connect for the session's streams: it may
	// neither end with the request that happens to need the session, nor carry
	// its values.
	life, cancel := context.WithCancel(context.Background())
	one.cancel = cancel
	life, f := withFlight(life)
	stop := context.AfterFunc(ctx, cancel)
	kept := &keeper{Transport: transport}
	cs, err := s.client(one, patience).Connect(life, kept, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = s.greetingFault(ctx, err, f, one.p)
		kept.close()
		one.cs = cs
		one.close()
		return nil, err
	}
	one.cs = cs
	go func() {
		_ = cs.Wait()
		close(one.over)
	}()
	return one, nil
}

// greetingFault says why a server could not be greeted.
func (s *server) greetingFault(ctx context.Context, err error, f *flight, p *process) error {
	if p != nil {
		// How it ended is worth a moment: it is the reason.
		p.within(100 * time.Millisecond)
	}
	if e := serverError(err, nil); e != nil && ctx.Err() == nil {
		cause := s.quiet(err)
		if p != nil {
			cause = s.lastWords(cause, p)
		}
		return fault(s.config.Name, event.ErrUnavailable, "refuses to be greeted: "+shorten.Text(clean(s.hide(e.Message)), 500, "…"),
			"see that it speaks MCP", cause)
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), errPatience) {
		cause := err
		if p != nil {
			cause = s.lastWords(err, p)
		}
		return fault(s.config.Name, event.ErrTimeout, fmt.Sprintf("did not answer its greeting within %v", s.options.ConnectTimeout),
			"see that it speaks MCP, and that nothing slows its start", cause)
	}
	return s.transportFault(ctx, err, f, p, "")
}

// tappedTransport taps the connections that it makes.
type tappedTransport struct {
	mcp.Transport
	traffic *traffic
}

func (t tappedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return tap(c, t.traffic), nil
}

// keeper remembers the connection, because the SDK loses it where a greeting fails in
// the middle.
type keeper struct {
	mcp.Transport
	conn mcp.Connection
}

func (k *keeper) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := k.Transport.Connect(ctx)
	k.conn = c
	return c, err
}

func (k *keeper) close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
}

// client is the SDK's client for one session.
func (s *server) client(one *session, patience time.Duration) *mcp.Client {
	o := &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		// No roots, no sampling: both are deprecated, and neither is offered.
		Capabilities: &mcp.ClientCapabilities{},
		// See round. With Elicit, the SDK checks answers and fills in what a form has by default.
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: s.options.Elicit == nil},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { s.stale() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { one.progress(r.Params) },
	}
	if s.options.Elicit != nil || s.options.ElicitAsQuestion {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}
	}
	if s.options.Elicit != nil {
		o.ElicitationHandler = s.elicit
	}
	c := mcp.NewClient(&mcp.Implementation{Name: s.options.Client, Version: s.options.ClientVersion}, o)
	var signIn error
	c.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch {
			case method == "server/discover":
				bounded, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				result, err := next(bounded, method, req)
				if mcpauth.Needed(err) {
					signIn = err // the SDK greets in older words next, which would hide it
				}
				return result, err
			case method == "initialize" && signIn != nil:
				return nil, signIn
			}
			return next(ctx, method, req)
		}
	})
	c.AddReceivingMiddleware(s.receive(one))
	return c
}

// checkForm refuses a form whose schema no check could finish before the SDK looks at it: the SDK
// checks the answer without bounds.
func checkForm(r *mcp.ElicitRequest) error {
	if r.Params == nil || r.Params.RequestedSchema == nil {
		return nil
	}
	raw, err := json.Marshal(r.Params.RequestedSchema)
	if err == nil {
		_, err = schemacheck.Compile(raw)
	}
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requested schema cannot be used: " + err.Error()}
	}
	return nil
}

func (s *server) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	q := Question{Server: s.config.Name, Message: r.Params.Message, URL: r.Params.URL}
	if r.Params.RequestedSchema != nil {
		raw, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		q.Schema = raw
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	a, err := s.options.Elicit(ctx, q)
	if err != nil {
		return nil, err
	}
	if a.Action == "" {
		a.Action = "cancel"
	}
	return &mcp.ElicitResult{Action: a.Action, Content: a.Content}, nil
}

// listen makes a token for a call's progress.
func (one *session) listen(fn func(*mcp.ProgressNotificationParams)) (token string, stop func()) {
	token = fmt.Sprintf("braid-%d", one.tokens.Add(1))
	one.mu.Lock()
	one.listeners[token] = fn
	one.mu.Unlock()
	return token, func() {
		one.mu.Lock()
		delete(one.listeners, token)
		one.mu.Unlock()
	}
}

func (one *session) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	one.mu.Lock()
	fn := one.listeners[token]
	one.mu.Unlock()
	if fn != nil {
		fn(p)
	}
}

// alive reports whether the session may still be used.
func (one *session) alive() bool {
	select {
	case <-one.over:
		return false
	default:
	}
	if one.p != nil {
		_, gone := one.p.gone()
		return !gone
	}
	return true
}

// close ends the session, and the child with it, and waits for both.
func (one *session) close() {
	if one.p != nil {
		// First of all, so that nothing waits for a child that does not read.
		one.p.end()
	} else {
		one.traffic.quiet(time.Second)
	}
	if one.cs != nil {
		_ = one.cs.Close()
	}
	one.cancel()
	if one.p != nil {
		<-one.p.exited
	}
	if one.courier != nil {
		one.courier.close()
	}
}

// pages lists the server's tools that are wanted, as the server wrote them: at
// most limit, and at most size bytes of what it says about them.
func (one *session) pages(
	ctx context.Context, wanted func(name string) bool, limit, size int,
) (tools []wireTool, more bool, err error) {
	seen := map[string]bool{}
	params := &mcp.ListToolsParams{}
	for range maxPages {
		ctx, f := withFlight(ctx)
		page, err := one.cs.ListTools(ctx, params)
		f.land()
		if err != nil {
			return nil, false, &listError{err: err, flight: f}
		}
		asWritten := map[string]json.RawMessage{}
		var w struct {
			Tools []wireTool `json:"tools"`
		}
		if raw := f.result(); raw != nil && json.Unmarshal(raw, &w) == nil {
			for _, t := range w.Tools {
				if _, twice := asWritten[t.Name]; !twice {
					asWritten[t.Name] = t.Schema
				}
			}
		}
		for _, t := range page.Tools {
			if !wanted(t.Name) {
				continue
			}
			one := wireTool{Name: t.Name, Title: t.Title, Description: t.Description, Hints: t.Annotations, Schema: asWritten[t.Name]}
			if one.Schema == nil && t.InputSchema != nil {
				// The SDK had the page in its cache.
				if one.Schema, err = json.Marshal(t.InputSchema); err != nil {
					one.Schema = nil
				}
			}
			size -= len(one.Name) + len(one.Title) + len(one.Description) + len(one.Schema)
			if len(tools) == limit || size < 0 {
				return tools, true, nil
			}
			tools = append(tools, one)
		}
		if page.NextCursor == "" {
			return tools, false, nil
		}
		if seen[page.NextCursor] {
			return tools, true, nil // it leads in a circle
		}
		seen[page.NextCursor] = true
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return tools, true, nil
}

// listError is a list that could not be had.
type listError struct {
	err    error
	flight *flight
}

func (e *listError) Error() string { return e.err.Error() }
func (e *listError) Unwrap() error { return e.err }

// wireTool is a tool as the server lists it.
//
//nolint:tagliatelle // the protocol's names
type wireTool struct {
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Description string               `json:"description"`
	Schema      json.RawMessage      `json:"inputSchema"`
	Hints       *mcp.ToolAnnotations `json:"annotations"`
}

// progressText is what watchers read.
func progressText(p *mcp.ProgressNotificationParams) string {
	s := strings.TrimSpace(clean(p.Message))
	count := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		count += fmt.Sprintf("/%g", p.Total)
	}
	if s == "" {
		return count
	}
	return shorten.Text(s, 2000, "…") + " (" + count + ")"
}
