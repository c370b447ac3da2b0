package serve

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// Options configure a server. One of Agent, Agents and Service.Agent is required.
type Options struct {
	// Agent answers every run: see [service.OneAgent].
	Agent *braid.Agent
	// Agents makes the agents of runs from what tenants and requests ask for. The caller closes its
	// parts after the server has ended.
	Agents *agents.Factory
	// Store is where the server keeps its data. The zero Store is in memory.
	Store Store
	// Addr is the address that [Server.Run] listens on, such as "127.0.0.1:7421".
	Addr string
	// TLS makes Run and [Server.Serve] use HTTPS. nil means HTTP.
	TLS *tls.Config
	// Token is the operator's credential. If it is empty New generates one: see [Server.Token].
	Token secret.Secret
	// Tenants enables many tenants with keys, agents, models and quotas of their own, and the API
	// to administer them. nil means one tenant, whose only credential is Token. The server sets
	// Database, and with Agents also References.
	Tenants *directory.Options
	// APIOnly disables AgentCore and the page.
	APIOnly bool
	// AGUI enables AG-UI, and ADK the routes for clients of Google's ADK, unless AgentCore trusts its platform.
	AGUI, ADK bool
	// AgentCore configures AgentCore's protocol. The server sets Service, Door, Tenant and Next.
	// With TrustPlatform the server serves only AgentCore's own paths.
	AgentCore agentcore.Options
	// API configures the native API, for example the Hosts that it accepts beside loopback names.
	// Hosts and Origins also apply to AgentCore unless that has its own. The server sets Service,
	// Directory, Token and Tenant.
	API server.Options
	// Service configures the execution of runs. The server sets Journal, Rows, Shared,
	// Directory and Webhooks, and with Agents also Agent, Models, Workspace and Forget. Set OpenModel, for
	// example to that of Agents, to have a model generate titles.
	Service service.Options
	// WebhookHosts are hosts beside public ones to which webhooks of tenants may point:
	// [github.com/braidrun/braid/netguard.Options].Allow.
	WebhookHosts []string
	// Metrics are the metrics that /metrics serves. nil means new ones.
	Metrics *server.Metrics
	// Forget drops the program's own data of tenants that the directory no longer has. It is called
	// after the directory has changed in any process. nil means that there is no such data.
	Forget func(ctx context.Context, d *directory.Directory) error
	// DrainTime bounds the end of [Server.Run]. 0 means [DefaultDrainTime].
	DrainTime time.Duration
	// Log receives one line for each request, and errors that no caller learns. nil discards it.
	Log *slog.Logger
}

const (
	// DefaultDrainTime is how long a server may take to end. It is less than the 30 s after which
	// supervisors usually kill a process.
	DefaultDrainTime = 27 * time.Second
	// drainGrace is the part of it that running steps have to finish. After that they are
	// cancelled.
	drainGrace = 20 * time.Second
)

// Server is a whole server: it executes runs and serves requests. It is an http.Handler and safe
// for concurrent use. Make it with [New], and end it with [Server.Run], [Server.Serve] or
// [Server.Close].
type Server struct {
	options Options
	store   *opened
	people  *directory.Directory
	outbox  *webhooks.Outbox
	metrics *server.Metrics
	service *service.Service
	api     *server.Server
	handler http.Handler
	log     *slog.Logger
	// undo closes what New opened, to be called in reverse order.
	undo []func() error

	mu    sync.Mutex
	phase phase
	// stop ends the background work.
	stop []func()
}

// phase is the state of a server.
type phase int

const (
	fresh phase = iota
	started
	ended
)

// New builds a server and opens its store. It starts nothing: the server refuses runs until
// [Server.Start]. It returns [event.ErrInvalid] for wrong options, and the store's errors.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Server{options: o, log: o.Log, metrics: o.Metrics}
	defer func() {
		if err != nil {
			_ = s.close() // the first error is the one that matters
		}
	}()
	if s.store, err = o.Store.opened(ctx); err != nil {
		return nil, err
	}
	s.undo = append(s.undo, s.store.close)
	if o.Tenants != nil {
		sender, err := webhooks.NewSender(o.WebhookHosts, o.API.Version)
		if err != nil {
			return nil, err
		}
		s.people = directory.New(s.directoryOptions(sender))
		s.undo = append(s.undo, s.people.Close)
		s.outbox = webhooks.New(webhooks.Options{
			Database: s.store.database, Directory: s.people, Journal: s.store.journal, Sender: sender, Log: o.Log,
		})
		// the tenant of the operator's token
		if err := s.people.EnsureTenant(ctx, directory.By{Operator: true}, directory.Tenant{ID: service.DefaultTenant}); err != nil {
			return nil, err
		}
	}
	if s.service, err = service.New(s.serviceOptions()); err != nil {
		return nil, err
	}
	s.metrics.Load(server.Load{Runs: s.service.Load, Tenants: s.service.Tenants, Counts: s.service.Counts, Pools: s.store.pools})
	if s.api, err = server.New(s.apiOptions(), s.metrics); err != nil {
		return nil, err
	}
	s.handler = s.api
	if o.AGUI {
		s.addAGUI()
	}
	if o.ADK {
		s.addADK()
	}
	if !o.APIOnly {
		err = s.addAgentCore()
	}
	return s, err
}

// check validates the options and sets defaults.
func (o *Options) check() error {
	switch {
	case o.Agent == nil && o.Agents == nil && o.Service.Agent == nil:
		return wrong("a server needs an agent", "set Agent, or Agents for a factory of agents")
	case o.Agent != nil && o.Agents != nil, (o.Agent != nil || o.Agents != nil) && o.Service.Agent != nil:
		return wrong("the server has more than one source of agents", "set one of Agent, Agents and Service.Agent")
	case o.Agent != nil && o.Agent.Err() != nil:
		return o.Agent.Err()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = server.NewMetrics(o.API.Version)
	}
	if o.Token.Empty() {
		o.Token = secret.New("braid_" + strings.ToLower(rand.Text()))
	}
	if o.DrainTime <= 0 {
		o.DrainTime = DefaultDrainTime
	}
	return nil
}

func wrong(message, hint string) error {
	return &event.Error{Op: "serve", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// directoryOptions returns the options of the directory.
func (s *Server) directoryOptions(sender *webhooks.Sender) directory.Options {
	o := *s.options.Tenants
	o.Database = s.store.database
	if f := s.options.Agents; f != nil {
		if o.Environment == nil {
			o.Environment = os.Getenv
		}
		o.References = f.References(o.Environment)
	}
	o.References.Webhook = sender.Check
	return o
}

// serviceOptions returns the options of the service.
func (s *Server) serviceOptions() service.Options {
	o := s.options.Service
	o.Journal, o.Rows, o.Shared, o.Directory = s.store.journal, service.NewRows(s.store.database), s.store.shared, s.people
	o.Webhooks = s.outbox
	if s.options.Agent != nil {
		o.Agent = service.OneAgent(s.options.Agent)
	}
	f := s.options.Agents
	if f != nil {
		o.Agent, o.Models, o.Workspace, o.Forget = f.Agent, f.Models, f.Workspace, f.Forget
		o.ToolServers = f.ToolServers()
	}
	if o.Log == nil {
		o.Log = s.log
	}
	observe, forget := o.Observe, o.ForgetTenant
	o.Observe = func(tenant, life string, e *event.Event) {
		s.metrics.Observe(tenant, life, e)
		if observe != nil {
			observe(tenant, life, e)
		}
	}
	o.ForgetTenant = func(ctx context.Context, t directory.Tenant) error {
		s.metrics.ForgetTenants(func(id, _ string) bool { return id == t.ID })
		var err error
		if f != nil {
			err = f.ForgetTenant(ctx, t)
		}
		if forget != nil {
			err = errors.Join(err, forget(ctx, t))
		}
		return err
	}
	if o.Engine.Grace == 0 {
		o.Engine.Grace = drainGrace
	}
	if o.Engine.Share == nil && s.people != nil {
		o.Engine.Share = func(tenant string) engine.Share {
			running, queued := s.people.RunQuota(tenant)
			return engine.Share{Running: running, Backlog: queued}
		}
	}
	return o
}

// apiOptions returns the options of the native API.
func (s *Server) apiOptions() server.Options {
	o := s.options.API
	o.Service, o.Directory, o.Token, o.Tenant = s.service, s.people, s.options.Token, service.DefaultTenant
	o.Webhooks = s.outbox
	if o.Log == nil {
		o.Log = s.log
	}
	ready := o.Ready
	o.Ready = func() error {
		if s.at() != started {
			return &event.Error{Kind: event.ErrUnavailable, Message: "the server is shutting down"}
		}
		if ready == nil {
			return nil
		}
		return ready()
	}
	return o
}

// Start begins to execute runs, open ones first. It is for programs that serve the handler
// themselves: [Server.Run] and [Server.Serve] call it. The end of ctx does not end the server; call
// [Server.Close].
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phase {
	case started:
		return wrong("the server was started before", "call Start, Run or Serve once")
	case ended:
		return wrong("the server was closed", "make a new one with New")
	}
	if err := s.service.Start(ctx); err != nil {
		return err
	}
	s.phase = started
	beside := context.WithoutCancel(ctx)
	s.stop = []func(){s.expire(beside), s.forgetGone(beside)}
	return nil
}

// Close stops executing runs and closes the store. It releases open runs where they are, and they
// go on when a server starts on the same store. It waits for running steps until ctx ends. It also
// ends all streams, so a program that serves the handler itself closes its http.Server afterwards.
// Close may be called again, but not concurrently.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.drain(ctx), s.close())
}

// drain stops the execution and ends the streams.
func (s *Server) drain(ctx context.Context) error {
	s.mu.Lock()
	was, stop := s.phase, s.stop
	s.stop, s.phase = nil, ended
	s.mu.Unlock()
	if was != started {
		return nil
	}
	for _, end := range stop {
		end()
	}
	return s.service.Drain(ctx)
}

// close closes what New opened.
func (s *Server) close() error {
	s.mu.Lock()
	s.phase = ended
	s.mu.Unlock()
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i]())
	}
	s.undo = nil
	return errors.Join(errs...)
}

func (s *Server) at() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

// Run listens on Addr and serves until ctx ends, as [Server.Serve] does.
func (s *Server) Run(ctx context.Context) error {
	if s.options.Addr == "" {
		return errors.Join(wrong("the server has no address to listen on", `set Addr, such as "127.0.0.1:7421", or use Serve`), s.close())
	}
	l, err := new(net.ListenConfig).Listen(context.WithoutCancel(ctx), "tcp", s.options.Addr)
	if err != nil {
		return errors.Join(&event.Error{
			Op: "serve", Kind: event.ErrInvalid, Message: "the server cannot listen on " + s.options.Addr,
			Hint: "choose another address of this machine", Err: err,
		}, s.close())
	}
	return s.Serve(ctx, l)
}

// Serve starts the server and serves on l until ctx ends. Then it drains: it releases the runs,
// ends the streams, and closes l and the server. It returns nil if all of that succeeded.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.Start(ctx); err != nil {
		_ = l.Close()
		if s.at() != fresh {
			return err
		}
		if ctx.Err() != nil {
			err = nil // it was stopped before it had started
		}
		return errors.Join(err, s.close())
	}
	web := s.api.HTTP()
	web.Handler, web.TLSConfig = s, s.options.TLS
	failed := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			failed <- web.ServeTLS(l, "", "")
			return
		}
		failed <- web.Serve(l)
	}()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.log.Info("draining")
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), s.options.DrainTime)
	defer stop()
	// The runs first: that ends the streams, and then no request is left.
	errs := []error{s.drain(wait)}
	if e := web.Shutdown(wait); e != nil {
		errs = append(errs, web.Close())
	}
	if err == nil {
		err = <-failed
	}
	if !errors.Is(err, http.ErrServerClosed) {
		errs = append(errs, err)
	}
	s.log.Info("ended")
	return errors.Join(append(errs, s.close())...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Token returns the operator's credential, which may do everything.
func (s *Server) Token() secret.Secret { return s.options.Token }

// Service returns the service, for programs that start and read runs without HTTP.
func (s *Server) Service() *service.Service { return s.service }

// Directory returns the directory of tenants. It returns nil without [Options].Tenants.
func (s *Server) Directory() *directory.Directory { return s.people }
