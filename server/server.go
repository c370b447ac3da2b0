package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Options configure a server. Service, Token and Tenant must be set.
type Options struct {
	Service *service.Service
	// Token is the operator's credential. It allows everything; requests about conversations
	// are those of Tenant.
	Token  secret.Secret
	Tenant string
	// Directory knows tenants, agents, models and API keys; without one Token is the only
	// credential, and there is no administration.
	Directory *directory.Directory
	// Base is the path below which all paths of the server are, such as "/braid", for a server
	// that shares a proxy with others; empty is none.
	Base string
	// Hosts are the names under which the server answers, without ports, beside those of
	// the loopback interface. A request for another name is refused: so a page of another
	// site cannot reach a server on this machine by giving its own name the machine's address.
	Hosts []string
	// Origins are the sites whose pages may ask, such as "https://chat.example";
	// none by default. The server tells browsers so (CORS).
	Origins []string
	// Attempts bounds the wrong credentials of an address.
	Attempts door.Attempts
	// BodyBytes bounds a request's body; 0 means [DefaultBodyBytes].
	BodyBytes int64
	// BodyTime is how long a body may take to arrive; 0 means [DefaultBodyTime].
	BodyTime time.Duration
	// Heartbeat is how long a stream is silent before it says that it is alive; 0
	// means [DefaultHeartbeat]. WriteTime is how long one write to a reader may
	// take before the stream is closed; 0 means [DefaultWriteTime].
	Heartbeat time.Duration
	WriteTime time.Duration
	// Ready says whether the server can take requests; nil means that it can.
	Ready func() error
	// Version stands in the metrics and the API's document.
	Version string
	// Log gets one line for each request; nil logs nothing.
	Log *slog.Logger
}

// The defaults of [Options].
const (
	DefaultBodyBytes = 8 << 20
	DefaultBodyTime  = 30 * time.Second
	DefaultHeartbeat = 15 * time.Second
	DefaultWriteTime = 60 * time.Second
)

// Server answers requests. Make it with [New]; it is safe for concurrent use and
// starts nothing.
type Server struct {
	options Options
	service *service.Service
	log     *slog.Logger
	handler http.Handler
	metrics *Metrics
	door    *door.Door
	// parameters are the names that addresses may have, by method and path.
	parameters map[string][]string
	cross      hostcheck.Cross
	// readers are those of runs that are cancelled when their reader leaves.
	readers door.Readers
}

// route is one operation of the API.
type route struct {
	method, path string
	// scope is what the caller's credential must be for; a route without one is open to
	// everybody.
	scope  service.Scope
	handle func(w http.ResponseWriter, r *http.Request) error
}

// api reports whether the route is an operation of the versioned API.
func (rt *route) api() bool { return rt.method != "" && strings.HasPrefix(rt.path, "/v1/") }

// New makes a server. metrics may be nil.
func New(o Options, metrics *Metrics) (*Server, error) {
	if o.Service == nil || o.Token.Empty() || o.Tenant == "" {
		return nil, &event.Error{
			Op: "server", Kind: event.ErrInvalid, Message: "a server needs a service, a token and a tenant", Hint: "set Service, Token and Tenant",
		}
	}
	o.Base = strings.TrimSuffix(o.Base, "/")
	if o.Base != "" && clean(o.Base) != o.Base || strings.HasSuffix(o.Base, "/") || strings.ContainsAny(o.Base, "%?# {}") {
		return nil, &event.Error{
			Op: "server", Kind: event.ErrInvalid, Message: "the base path is not one",
			Hint: "write it as /braid: with a slash before it, of plain letters",
		}
	}
	for _, origin := range o.Origins {
		if !hostcheck.IsOrigin(origin) {
			return nil, &event.Error{
				Op: "server", Kind: event.ErrInvalid, Message: "an allowed site is not an origin",
				Hint: "write it as browsers send it: https://chat.example, without a path and without *",
			}
		}
	}
	if o.BodyBytes <= 0 {
		o.BodyBytes = DefaultBodyBytes
	}
	if o.BodyTime <= 0 {
		o.BodyTime = DefaultBodyTime
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if metrics == nil {
		metrics = NewMetrics(o.Version)
	}
	s := &Server{options: o, service: o.Service, log: o.Log, metrics: metrics, door: doorOf(&o), cross: crossing(o.Origins)}
	var err error
	if s.parameters, err = documentedParameters(); err != nil {
		return nil, &event.Error{Op: "server", Kind: event.ErrInternal, Message: "the API's document cannot be read", Err: err}
	}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, rt := range s.routes() {
		mux.Handle(rt.method+" "+rt.path, s.serve(rt))
		methods[rt.path] = append(methods[rt.path], rt.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.serve(route{path: path, handle: wrongMethod(allowed)}))
	}
	mux.Handle("/", s.serve(route{path: "/", handle: noSuchPath}))
	s.handler = s.guard(mux)
	return s, nil
}

func doorOf(o *Options) *door.Door {
	var keys door.Keys
	if o.Directory != nil {
		keys = o.Directory
	}
	d := door.New(o.Token, o.Tenant, keys)
	d.Bound(o.Attempts)
	return d
}

// routes is the whole API.
func (s *Server) routes() []route {
	const open, read, write, operator = "", service.ScopeRead, service.ScopeWrite, service.ScopeOperator
	return append([]route{
		{"GET", "/healthz", open, s.health},
		{"GET", "/readyz", open, s.ready},
		{"GET", "/openapi.json", open, s.document},
		{"GET", "/metrics", operator, s.measures},
		{"GET", "/v1/models", read, s.listModels},
		{"POST", "/v1/conversations", write, s.createConversation},
		{"GET", "/v1/conversations", read, s.listConversations},
		{"GET", "/v1/conversations/{id}", read, s.getConversation},
		{"PATCH", "/v1/conversations/{id}", write, s.updateConversation},
		{"DELETE", "/v1/conversations/{id}", write, s.deleteConversation},
		{"POST", "/v1/conversations/{id}/reset", write, s.resetConversation},
		{"POST", "/v1/conversations/{id}/fork", write, s.forkConversation},
		{"GET", "/v1/conversations/{id}/export", read, s.exportConversation},
		{"GET", "/v1/conversations/{id}/events", read, s.listEvents},
		{"GET", "/v1/conversations/{id}/stream", read, s.streamConversation},
		{"GET", "/v1/conversations/{id}/questions", read, s.listQuestions},
		{"POST", "/v1/conversations/{id}/questions/{token}", write, s.answerQuestion},
		{"POST", "/v1/conversations/{id}/runs", write, s.startRun},
		{"GET", "/v1/conversations/{id}/runs", read, s.listRuns},
		{"GET", "/v1/conversations/{id}/runs/{run}", read, s.getRun},
		{"POST", "/v1/conversations/{id}/runs/{run}/cancel", write, s.cancelRun},
		{"POST", "/v1/conversations/{id}/runs/{run}/retry", write, s.retryRun},
		{"GET", "/v1/conversations/{id}/runs/{run}/stream", read, s.streamRun},
	}, s.adminRoutes()...)
}

// Door returns what checks the server's credentials, for handlers beside it.
func (s *Server) Door() *door.Door { return s.door }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTP returns an http.Server for the handler. It bounds slow headers, idle connections and
// large headers; bodies and streams have their own bounds.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func wrongMethod(allowed []string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &statusError{
			http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "this path does not take that method", "use " + strings.Join(allowed, " or "),
		}
	}
}

func noSuchPath(http.ResponseWriter, *http.Request) error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such path", Hint: "/openapi.json lists them"}
}
