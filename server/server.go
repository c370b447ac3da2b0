package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
)

// Options are what a server is made of. Service and Token must be set.
type Options struct {
	Service *service.Service
	// Token is the one credential; who has it is of Tenant.
	Token  secret.Secret
	Tenant string
	// Hosts are the names under which the server may be asked, without ports, beside
	// those of the loopback interface. What asks for another one is refused, so that a
	// page of another site cannot reach a server on this machine by giving its own
	// name the machine's address.
	Hosts []string
	// Origins are the sites whose pages may ask, such as "https://chat.example";
	// none by default. Browsers are told so (CORS), and not of any other.
	Origins []string
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
	// Version is told in the metrics and the API's document.
	Version string
	// Log gets one line for each request; nil means nobody.
	Log *slog.Logger
}

// What a server does where nothing else was said.
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
}

// route is one operation of the API.
type route struct {
	method, path string
	// open routes need no credential.
	open   bool
	handle func(w http.ResponseWriter, r *http.Request) error
}

// New makes a server. metrics may be nil.
func New(o Options, metrics *Metrics) (*Server, error) {
	if o.Service == nil || o.Token.Empty() || o.Tenant == "" {
		return nil, &event.Error{
			Op: "server", Kind: event.ErrInvalid, Message: "a server needs a service, a token and a tenant", Hint: "set Service, Token and Tenant",
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
	s := &Server{options: o, service: o.Service, log: o.Log, metrics: metrics}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, rt := range s.routes() {
		mux.Handle(rt.method+" "+rt.path, s.serve(rt))
		methods[rt.path] = append(methods[rt.path], rt.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.serve(route{path: path, open: true, handle: wrongMethod(allowed)}))
	}
	mux.Handle("/", s.serve(route{path: "/", open: true, handle: noSuchPath}))
	s.handler = s.guard(mux)
	return s, nil
}

// routes is the whole API.
func (s *Server) routes() []route {
	return []route{
		{"GET", "/healthz", true, s.health},
		{"GET", "/readyz", true, s.ready},
		{"GET", "/openapi.json", true, s.document},
		{"GET", "/metrics", false, s.measures},
		{"GET", "/v1/models", false, s.listModels},
		{"POST", "/v1/conversations", false, s.createConversation},
		{"GET", "/v1/conversations", false, s.listConversations},
		{"GET", "/v1/conversations/{id}", false, s.getConversation},
		{"PATCH", "/v1/conversations/{id}", false, s.updateConversation},
		{"DELETE", "/v1/conversations/{id}", false, s.deleteConversation},
		{"POST", "/v1/conversations/{id}/reset", false, s.resetConversation},
		{"POST", "/v1/conversations/{id}/fork", false, s.forkConversation},
		{"GET", "/v1/conversations/{id}/export", false, s.exportConversation},
		{"GET", "/v1/conversations/{id}/events", false, s.listEvents},
		{"GET", "/v1/conversations/{id}/stream", false, s.streamConversation},
		{"GET", "/v1/conversations/{id}/questions", false, s.listQuestions},
		{"POST", "/v1/conversations/{id}/questions/{token}", false, s.answerQuestion},
		{"POST", "/v1/conversations/{id}/runs", false, s.startRun},
		{"GET", "/v1/conversations/{id}/runs", false, s.listRuns},
		{"GET", "/v1/conversations/{id}/runs/{run}", false, s.getRun},
		{"POST", "/v1/conversations/{id}/runs/{run}/cancel", false, s.cancelRun},
		{"GET", "/v1/conversations/{id}/runs/{run}/stream", false, s.streamRun},
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTP gives an http.Server for the handler with the bounds that such a server needs:
// slow headers, idle connections and large headers are not waited for. Bodies and
// streams have bounds of their own.
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
