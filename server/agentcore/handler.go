package agentcore

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// Options configure a handler. A caller needs Token, an API key, or a key that Keys
// knows, unless TrustPlatform is set. The zero value accepts no caller.
type Options struct {
	// Service executes the runs. [ForAgent] makes one.
	Service *service.Service
	// Token is a bearer token of Tenant, which is "default" if empty.
	Token  secret.Secret
	Tenant string
	// Door authenticates for a server that has other handlers too: it knows the token and the
	// API keys. nil accepts Token only.
	Door *door.Door
	// TrustPlatform accepts /invocations and /ws without a credential and under any host name.
	// Set it only inside AgentCore Runtime: there the platform has checked both, and nobody else
	// reaches the port. Elsewhere it opens the agent to everybody who reaches the port.
	TrustPlatform bool
	// Runtime is the ARN that the AWS endpoints serve,
	// arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID. Empty disables them.
	Runtime string
	// Keys finds an AWS access key and its tenant by the key's id. With nil, the AWS endpoints
	// accept the bearer token only.
	Keys func(ctx context.Context, id string) (Key, bool)
	// Stream is the form of the stream for callers that ask for no other.
	Stream Stream
	// Card describes the agent to other agents; see [Card].
	Card Card
	// Health returns the health that /ping reports. If it is nil, returns "" or panics, the
	// handler derives the health from its tasks.
	Health func() Health
	// Debug enables the SDK's debug actions in the body of an invocation.
	Debug bool
	// Hosts are further host names of the handler, beside those of this machine.
	Hosts []string
	// Origins are other sites whose pages may call the handler.
	Origins []string
	// Base is a path prefix of all the handler's paths, such as "/braid"; empty is none.
	// Signatures cover the whole path. Next gets requests with the prefix.
	Base string
	// Next handles requests for other paths; nil responds 404.
	Next http.Handler
	// BodyBytes is the maximum size of a body; 0 means [DefaultBodyBytes].
	BodyBytes int64
	// BodyTime is the maximum time to receive a body; 0 means [DefaultBodyTime].
	BodyTime time.Duration
	// WriteTime is the timeout of one write, after which the reader counts as gone; 0 means
	// [DefaultWriteTime].
	WriteTime time.Duration
	// Grace is how long a run continues after its last reader left, if the invocation had an
	// amz-sdk-invocation-id. An SDK that repeats the invocation in that time reads on. 0 means
	// [DefaultGrace], a negative value means none. A run without such an id is cancelled at
	// once.
	Grace time.Duration
	// Observe is called after each request; nil disables it. route is one of a fixed set, never
	// the caller's text.
	Observe func(method, route string, status int, took time.Duration)
	// Refused is called with each error that the handler responds with; nil disables it.
	Refused func(err error)
	// Log receives one line per request; nil disables logging.
	Log *slog.Logger
}

// The defaults of [Options].
const (
	// DefaultBodyBytes is the platform's own limit of a payload.
	DefaultBodyBytes = 100 << 20
	DefaultBodyTime  = 2 * time.Minute
	DefaultWriteTime = 60 * time.Second
	DefaultGrace     = 10 * time.Second
)

// Handler answers AgentCore's requests. It is safe for concurrent use.
type Handler struct {
	options Options
	front   front.Options
	service *service.Service
	log     *slog.Logger
	door    *servedRuntime
	entry   *door.Door
	cross   hostcheck.Cross
	health  health
	readers door.Readers
	// id distinguishes handlers that share a database.
	id string
	// own is set if [ForAgent] made the service.
	own bool
	// behind counts the runs that continue after their response.
	behind sync.WaitGroup
	// ends is cancelled when the handler is closed.
	ends context.Context //nolint:containedctx // it is the lifetime of the handler, not of a request
	end  context.CancelFunc
}

// New makes a handler over a service, which the caller starts and drains. The error is that an
// option is invalid.
func New(o Options) (*Handler, error) {
	if o.Service == nil {
		return nil, wrong("a handler needs a service", "set Service, or use ForAgent")
	}
	if o.TrustPlatform && (!o.Token.Empty() || o.Door != nil) {
		return nil, wrong("the handler is to ask for a token and to ask for none", "set either Token or TrustPlatform")
	}
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.BodyBytes <= 0 {
		o.BodyBytes = DefaultBodyBytes
	}
	if o.BodyTime <= 0 {
		o.BodyTime = DefaultBodyTime
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Door == nil {
		o.Door = door.New(o.Token, o.Tenant, nil)
	}
	h := &Handler{options: o, service: o.Service, log: o.Log, entry: o.Door, cross: crossing(o.Origins), id: newUUID()}
	h.front = front.Options{
		Service: o.Service, Door: o.Door, BodyBytes: o.BodyBytes, BodyTime: o.BodyTime, WriteTime: o.WriteTime,
		Observe: o.Observe, Refused: o.Refused, Log: o.Log,
	}
	h.health.custom = o.Health
	h.health.at = time.Now()
	if o.Runtime != "" {
		door, err := parseRuntime(o.Runtime)
		if err != nil {
			return nil, err
		}
		h.door = door
	}
	h.ends, h.end = context.WithCancel(context.Background())
	return h, nil
}

func wrong(message, hint string) error {
	return &event.Error{Op: "agentcore", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// Close waits for runs that continue after their response until ctx ends, and drains the service
// if [ForAgent] made it. It does not cancel a run whose reader may return.
func (h *Handler) Close(ctx context.Context) error {
	h.end()
	h.readers.Close()
	var err error
	if h.own {
		err = h.service.Drain(ctx)
	}
	h.behind.Wait()
	return err
}

// route is the destination of a request.
type route struct {
	// name is the route's name in logs and metrics.
	name   string
	method string
	door   bool
	// scope is the scope that the credential must have; "" requires no credential.
	scope  service.Scope
	handle func(*exchange) error
	// arn is the ARN in the path.
	arn string
}

// find returns the route of a request. found is false for paths that are not AgentCore's.
func (h *Handler) find(r *http.Request) (rt route, found bool) {
	const write = service.ScopeWrite
	path, below := strings.CutPrefix(r.URL.EscapedPath(), h.options.Base)
	if !below {
		return route{}, false
	}
	switch path {
	case "/invocations":
		return route{name: path, method: http.MethodPost, scope: write, handle: (*exchange).invoke}, true
	case "/ping":
		return route{name: path, method: http.MethodGet, handle: (*exchange).ping}, true
	case "/ws":
		return route{name: path, method: http.MethodGet, scope: write, handle: (*exchange).socket}, true
	default:
		rest, ok := strings.CutPrefix(path, "/runtimes/")
		if !ok || h.door == nil {
			return route{}, false
		}
		return doorRoute(rest), true
	}
}

// doorRoute returns the route of a path of the AWS endpoints. The ARN is one percent-encoded
// segment; it may also be unescaped.
func doorRoute(rest string) route {
	const read, write = service.ScopeRead, service.ScopeWrite
	for _, rt := range []route{
		{name: "/invocations", method: http.MethodPost, scope: write, handle: (*exchange).invoke},
		{name: "/invocations/.well-known/agent-card.json", method: http.MethodGet, scope: read, handle: (*exchange).card},
		{name: "/stopruntimesession", method: http.MethodPost, scope: write, handle: (*exchange).stop},
		{name: "/ws", method: http.MethodGet, scope: write, handle: (*exchange).socket},
	} {
		arn, ok := strings.CutSuffix(rest, rt.name)
		if !ok {
			continue
		}
		if arn, err := url.PathUnescape(arn); err == nil {
			rt.name, rt.door, rt.arn = "/runtimes/{arn}"+rt.name, true, arn
			return rt
		}
	}
	return route{name: "/runtimes/", door: true, handle: (*exchange).unknown}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, found := h.find(r)
	if !found && h.options.Next != nil {
		h.options.Next.ServeHTTP(w, r)
		return
	}
	x := newExchange(h, w, r, &rt)
	if !found {
		rt = route{name: "none", handle: (*exchange).unknown}
	}
	if x.Route = rt.name; rt.name == "/ping" {
		x.Quiet() // the platform pings all the time
	}
	x.Serve(func() error { return x.serve(&rt) }, x.refuse)
}

// serve checks a request's host, origin and credential, and calls its handler.
func (x *exchange) serve(rt *route) error {
	o := &x.h.options
	if !o.TrustPlatform {
		answered, err := front.Foreign(x.W, x.R, o.Hosts, o.Origins, &x.h.cross)
		if answered {
			x.Status = http.StatusNoContent
		}
		if err != nil || answered {
			return err
		}
	}
	if rt.method != "" && x.R.Method != rt.method {
		x.W.Header().Set("Allow", rt.method)
		return &fault{http.StatusMethodNotAllowed, validation, "this path does not take that method", "use " + rt.method}
	}
	if rt.scope != "" {
		if err := x.authenticate(x.scope); err != nil {
			return err
		}
		if err := x.h.entry.Pass(x.R.Context(), &x.Who, x.W.Header()); err != nil {
			return err
		}
	}
	if rt.door && rt.scope != "" && !x.h.door.answers(rt.arn, x.R.URL.Query()) {
		return front.Refusal(event.ErrNotFound, "there is no such agent runtime, or no such endpoint of it",
			"look at the ARN, and leave the qualifier out or say DEFAULT")
	}
	return rt.handle(x)
}

// unknown responds to an unknown path.
func (x *exchange) unknown() error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such path", Hint: "use POST /invocations or GET /ping"}
}
