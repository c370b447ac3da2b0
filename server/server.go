package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/server/door"
)

// The defaults of [Options].
const (
	DefaultBodyBytes = 8 << 20
	DefaultBodyTime  = 30 * time.Second
	DefaultHeartbeat = 15 * time.Second
	DefaultWriteTime = 60 * time.Second
)

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
	for _, rt := range append(s.routes(), s.browserRoutes()...) {
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
