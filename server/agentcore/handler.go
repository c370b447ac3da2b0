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
	// Door authenticates for a server with other handlers beside this one: it knows the token
	// and the API keys. nil accepts Token alone.
	Door *door.Door
	// TrustPlatform needs no credential on /invocations and /ws, and answers under
	// any name: inside AgentCore Runtime the platform has checked both, and only it
	// reaches the port. Anywhere else it opens the agent to everybody who reaches the port.
	TrustPlatform bool
	// Runtime is the ARN under which the front door answers,
	// arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID; without one there is none.
	Runtime string
	// Keys finds an AWS access key by its id, and with it the tenant; nil means that
	// the front door takes the bearer token alone.
	Keys func(ctx context.Context, id string) (Key, bool)
	// Stream is what callers get who ask for no other form.
	Stream Stream
	// Card describes the agent to other agents; see [Card].
	Card Card
	// Health is asked by /ping before the tasks are counted; "", or a panic, leaves it
	// to them. nil means to count.
	Health func() Health
	// Debug takes the SDK's debug actions in the body of an invocation.
	Debug bool
	// Hosts are the names under which the handler may be asked beside those of this
	// machine, and Origins the sites whose pages may ask beside its own.
	Hosts, Origins []string
	// Base is the path below which all of the handler's paths are, such as "/braid"; empty is
	// none. A signature is of the whole path. Next gets requests as they come.
	Base string
	// Next answers what is asked for under other paths; nil means 404.
	Next http.Handler
	// BodyBytes bounds a body; 0 means [DefaultBodyBytes]. BodyTime is how long it may
	// take to arrive; 0 means [DefaultBodyTime].
	BodyBytes int64
	BodyTime  time.Duration
	// WriteTime is how long one write to a reader may take before the reader counts as
	// gone; 0 means [DefaultWriteTime].
	WriteTime time.Duration
	// Grace is how long a run goes on after its last reader left, if the invocation had an amz-sdk-invocation-id:
	// an SDK that repeats it meanwhile reads on. 0 means [DefaultGrace], less means none. A run whose
	// invocation had no such id is cancelled at once.
	Grace time.Duration
	// Observe is called after each request; nil calls nothing. The route is
	// never what the caller wrote.
	Observe func(method, route string, status int, took time.Duration)
	// Refused is called with each error that a request is answered with; nil calls nothing.
	Refused func(err error)
	// Log gets one line for each request; nil logs nothing.
	Log *slog.Logger
}

// The defaults of [Options].
const (
	// DefaultBodyBytes is the platform's own bound of a payload.
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
	door    *frontDoor
	entry   *door.Door
	cross   hostcheck.Cross
	health  health
	readers door.Readers
	// id distinguishes handlers that share a database.
	id string
	// own is set where the service is the handler's.
	own bool
	// behind are runs that go on although their request was answered.
	behind sync.WaitGroup
	// ends is done when the handler is closed.
	ends context.Context //nolint:containedctx // it is the handler's life, which no request has
	end  context.CancelFunc
}

// New makes a handler over a service, which the caller starts and drains.
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
		door, err := openDoor(o.Runtime)
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

// Close waits for what goes on behind answered requests, as long as ctx lasts, and drains
// the service where [ForAgent] made it. A run whose reader may still come back is not cancelled.
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

// route is where a request goes.
type route struct {
	// name stands in logs and metrics.
	name   string
	method string
	door   bool
	// scope is what the credential must be for; "" asks for none.
	scope  service.Scope
	handle func(*exchange) error
	// arn is the runtime that the path names.
	arn string
}

// find finds a request's route. found false is for paths that are not AgentCore's.
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

// doorRoute finds a route of the front door. The ARN is one segment, percent-encoded;
// it is also taken as it stands.
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
		x.Quiet() // the platform asks all the time
	}
	x.Serve(func() error { return x.serve(&rt) }, x.refuse)
}

// serve checks a request's host, origin and credential, and calls its route.
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
		return &event.Error{
			Kind: event.ErrNotFound, Message: "there is no such agent runtime, or no such endpoint of it",
			Hint: "look at the ARN, and leave the qualifier out or say DEFAULT",
		}
	}
	return rt.handle(x)
}

// unknown answers what is no path.
func (x *exchange) unknown() error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such path", Hint: "POST /invocations and GET /ping are there"}
}
