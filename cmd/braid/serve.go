package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/artifacttool"
	"github.com/braidrun/braid/workspace"
)

func serveCommand(p *process) conf.Command {
	return conf.Command{
		Name: "serve", Short: "serve conversations over HTTP",
		About: `Runs the execution service: conversations, runs and streams over HTTP, for one
tenant. Without --addr it listens on this machine only. It requires a token, which it
prints and keeps in the data folder.

Conversations are kept in the data folder; braid conversations and braid show can
read it while the server runs. A run continues when its client disconnects and when
the server restarts. SIGTERM and Ctrl-C stop the server and leave open runs for the
next start.

With --postgres, or ` + postgresEnv + `, everything is kept in a PostgreSQL database,
which braid migrate prepares. Any number of servers can share it: a client may use
any of them, and the others take over the runs of a dead server.

GET /openapi.json describes the API.`,
		Examples: []conf.Example{
			{Line: `braid serve`, Says: "serve on " + conf.DefaultAddr},
			{Line: `braid serve --addr 127.0.0.1:0 --data ./data`, Says: "on a free port, with its own folder"},
			{Line: `braid serve --addr unix:/run/braid/braid.sock`, Says: "on a socket that only this user can reach"},
			{Line: `braid serve --postgres postgres://braid_server@db/braid`, Says: "one of several servers on a database"},
			{Line: `braid serve --mcp mcp.json`, Says: "with the tools of MCP servers"},
			{Line: `braid serve --openapi https://api.example/openapi.json`, Says: "with the operations of an API as tools"},
			{Line: `braid serve --agentcore`, Says: "as Amazon Bedrock AgentCore, on " + agentcoreAddr},
			{Line: `braid chat --server http://` + conf.DefaultAddr, Says: "talk to it from another terminal"},
		},
		Options: true,
		Some: []string{
			"model", "fallback", "fallback_on", "attempts", "prices", "vendors", "model_requests", "model_tokens", "model_concurrency",
			"instructions", "tools", "allow", "ask", "deny", "scratch", "data", "max_cycles", "max_tool_calls", "max_total_tokens",
			"max_input_tokens",
			"max_output_tokens", "max_cost", "budget", "sequential",
			"memory", "context", "window", "context_tokens", "offload_over", "tool_search", "max_tokens", "temperature", "thinking_budget", "effort",
			"show_thinking", "top_p", "seed", "verbosity", "service_tier", "server_tool", "model_extra", "model_header", "mcp",
			"openapi", "openapi_auth", "openapi_server",
			"skills", "workspaces", "shell", "shell_level", "shell_time", "shell_memory",
			"running", "tenant_running", "queued", "tenant_queued", "lost_drivers", "failed_runs", "refused_every",
			"wrong_credentials", "trusted_proxies",
			"tenant_requests", "tenant_conversations", "tenant_agents", "tenant_storage", "tenant_tokens", "tenant_cost", "metric_tenants", "lease",
		},
		Flags: append(append(append(postgresFlags(), connectionFlag), []conf.Flag{
			{Name: "token-file", Value: "FILE", Help: "file with the operator's token, for several servers; else the data folder keeps one"},
			{
				Name: "secrets", Value: "FILE",
				Help: "file with the keys that encrypt providers' keys, for several servers (" + secretsEnv + "; else the data folder keeps one)",
			},
			{Name: "addr", Value: "ADDR", Help: "address: HOST:PORT, with port 0 for a free one, or unix:PATH (" + conf.DefaultAddr + ")"},
			{Name: "base-path", Value: "PATH", Help: "prefix of all paths, such as /braid, behind a shared proxy"},
			{Name: "tls-cert", Value: "FILE", Help: "serve HTTPS with the certificate in this file (PEM, with its chain)"},
			{Name: "tls-key", Value: "FILE", Help: "private key of the certificate; both files are reloaded when they change"},
			{Name: "host", Value: "LIST", Help: "additional host names of the server, besides those of this machine"},
			{Name: "origin", Value: "LIST", Help: "sites whose pages may send requests, such as https://chat.example"},
			{Name: "titles", Value: "FROM", Help: "source of titles: model asks a small model, words takes the first words of the user (model)"},
			{Name: "agui", Help: "also serve the AG-UI protocol: POST /agui"},
			{Name: "adk", Help: "also serve clients of Google's ADK, below /adk"},
			{Name: "artifacts", Help: "give agents the tools save_artifact and load_artifacts: files with versions"},
			{Name: "run-time", Value: "TIME", Help: "maximum active time of one run (5m)"},
			{Name: "chat", Help: "open a chat with the server, and stop the server with the chat; the log goes to serve.log in the data folder"},
			{Name: "log", Value: "FORM", Help: "the log on standard error: text, json or none; text on a terminal, else json"},
		}...), append(tenantServerFlags, agentcoreFlags...)...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return runServer(ctx, p, in) },
	}
}

// runServer executes the command.
func runServer(ctx context.Context, p *process, in *conf.Invocation) error {
	if err := in.NoArguments(); err != nil {
		return err
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	log, err := p.serverLog(in.Flags["log"])
	if err != nil {
		return err
	}
	if in.On("chat") {
		return p.serveChat(ctx, cfg, in)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	h, err := p.openInstance(ctx, cfg, in, log)
	if err != nil {
		return err
	}
	addr := in.Flags["addr"]
	if addr == "" && in.On("agentcore") {
		addr = agentcoreAddr
	}
	listener, err := listen(ctx, addr)
	if err != nil {
		return errors.Join(err, h.close())
	}
	h.warnClear(listener, log)
	if err := h.greet(p, cfg, h.address(listener)); err != nil {
		_ = listener.Close()
		return errors.Join(err, h.close())
	}
	return h.serve(ctx, listener)
}

// serveChat starts the server, and chats with it over HTTP like any other client.
func (p *process) serveChat(ctx context.Context, cfg *conf.Config, in *conf.Invocation) error {
	if err := checkFolder(cfg.Data); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return storeError(err)
	}
	file, err := os.OpenFile(filepath.Join(cfg.Data, "serve.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return storeError(err)
	}
	defer file.Close()
	log := slog.New(slog.NewTextHandler(file, nil))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h, err := p.openInstance(ctx, cfg, in, log)
	if err != nil {
		return err
	}
	addr := in.Flags["addr"]
	if addr == "" {
		addr = "127.0.0.1:0" // another server may use the usual port
	}
	listener, err := listen(ctx, addr)
	if err != nil {
		return errors.Join(err, h.close())
	}
	address := h.address(listener)
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx, listener) }()
	talk := &conf.Invocation{Cmd: in.Cmd, Options: in.Options, Behind: map[string]int{}, Flags: map[string]string{
		"server": address, "token-file": filepath.Join(cfg.Data, conf.TokenFile),
	}}
	ints := p.watchSignals(2)
	err = p.chatFar(ctx, cfg, talk, ints, afterChat(in))
	ints.Stop()
	stop()
	return errors.Join(err, <-served)
}

// afterChat returns the command that continues the conversation after the server has ended with its chat.
func afterChat(in *conf.Invocation) string {
	folder := ""
	if dir := in.Options["data"]; dir != "" {
		folder = " --data " + dir
	}
	return "this server ends with the chat: braid serve" + folder + ", and in another terminal braid chat" + folder +
		" --server http://" + conf.DefaultAddr + " --continue, go on from here"
}

// instance is a running server with its resources.
type instance struct {
	*serve.Server

	stores *stores
	// base is the prefix of its paths.
	base string
	tls  *tls.Config
	// tokenIn is the file with the token; empty if the server has just created the token.
	tokenIn string
	agents  *agentFactory
	// agentcore describes AgentCore's addresses in the greeting. trusts is set if they need no credential,
	// page if they have a page for browsers.
	agentcore    []string
	trusts, page bool
	// undo releases the resources in reverse order.
	undo []func() error
}

func (h *instance) close() error {
	var errs []error
	for i := len(h.undo) - 1; i >= 0; i-- {
		errs = append(errs, h.undo[i]())
	}
	h.undo = nil
	return errors.Join(errs...)
}

// memory divides the given bytes. It keeps the collector's limit if the user has set one.
func (p *process) memory(bytes int64) *service.Memory {
	m := service.NewMemory(bytes)
	m.Collect(p.Getenv("GOMEMLIMIT") == "")
	return m
}

// openInstance opens the data folder and builds the service. No run starts yet.
func (p *process) openInstance(ctx context.Context, cfg *conf.Config, in *conf.Invocation, log *slog.Logger) (_ *instance, err error) {
	p.doubt = func(w models.Warning) { log.Warn(w.Text, "model", w.Model, "next", w.Next) }
	h := &instance{base: strings.TrimSuffix(in.Flags["base-path"], "/")}
	defer func() {
		if err != nil {
			_ = h.close() // the first error counts
		}
	}()
	o := serve.Options{Log: log, APIOnly: !in.On("agentcore"), AGUI: in.On("agui"), ADK: in.On("adk")}
	o.Metrics = server.NewMetrics(readBuild().Version)
	o.Metrics.LimitTenants(cfg.MetricTenants)
	if text := in.Flags["run-time"]; text != "" {
		if o.Service.RunTime, err = conf.ParseTime(text); err != nil {
			return nil, term.Invalid("write it as 90s or 5m", "--run-time: %q %s", term.Fit(text, 40), err)
		}
	}
	if err = checkPrivate(cfg.Data); err != nil {
		return nil, err
	}
	if h.stores, err = p.openStores(ctx, cfg, in); err != nil {
		return nil, err
	}
	h.undo = append(h.undo, h.stores.close)
	o.Store = h.stores.serve()
	keys, err := p.checkedKeys(ctx, cfg, in, h.stores)
	if err != nil {
		return nil, err
	}
	if o.Token, h.tokenIn, err = p.serverToken(cfg, in); err != nil {
		return nil, err
	}
	public, err := publicURL(in)
	if err != nil {
		return nil, err
	}
	tenants, err := p.openTenantServers(in, log)
	if err != nil {
		return nil, err
	}
	var more []braid.Tool
	if in.On("artifacts") {
		more = artifacttool.ForEach(service.ArtifactsOf)
	}
	if h.agents, err = p.openAgents(ctx, cfg, log, tenants, more...); err != nil {
		return nil, err
	}
	h.undo = append(h.undo, h.agents.close)
	h.agents.shared = h.stores.shared
	o.Agents, o.Forget = h.agents.Factory, h.agents.forgetGone
	o.Tenants = &directory.Options{
		Keys: keys, Environment: p.Getenv, RefusedEvery: cfg.RefusedEvery, Quota: quotaOf(&cfg.Settings),
	}
	o.WebhookHosts = conf.Words(in.Flags["allow-host"])
	if cfg.Workspaces {
		o.Service.Workspaces = &workspace.Quota{}
	}
	if cfg.WorkspaceBucket != "" {
		bucket, err := p.openBucket(ctx, cfg.WorkspaceBucket)
		if err != nil {
			return nil, err
		}
		h.undo = append(h.undo, func() error { bucket.Close(); return nil })
		o.Service.WorkspaceBackend = bucket
	}
	if err := p.serviceOptions(cfg, in, h.agents, &o.Service); err != nil {
		return nil, err
	}
	room := &space{folder: cfg.Data}
	o.API = server.Options{
		Attempts:  door.Attempts{Most: conf.OrNever(cfg.WrongCredentials), Proxies: cfg.TrustedProxies},
		PublicURL: public, Hosts: append(conf.Words(in.Flags["host"]), publicHost(public)...), Origins: conf.Words(in.Flags["origin"]),
		Base: in.Flags["base-path"], Version: readBuild().Version,
		Ready: func() error {
			if !h.stores.shared {
				return room.check()
			}
			return nil
		},
	}
	if h.tls, err = p.openTLS(in, log); err != nil {
		return nil, err
	}
	o.TLS = h.tls
	if o.AgentCore, err = h.agentcoreOptions(cfg, in); err != nil {
		return nil, err
	}
	if h.Server, err = serve.New(ctx, o); err != nil {
		return nil, err
	}
	h.undo = append(h.undo, func() error { return h.Close(context.WithoutCancel(ctx)) })
	return h, nil
}

// serviceOptions sets how runs are executed.
func (p *process) serviceOptions(cfg *conf.Config, in *conf.Invocation, a *agentFactory, o *service.Options) error {
	o.ForgetTenant, o.Instructions, o.Memory = a.forgetTenant, cfg.Instructions, p.memory(cfg.Memory)
	o.LostDrivers, o.FailedRuns = conf.OrNever(cfg.LostDrivers), directory.FailedRuns(cfg.FailedRuns)
	o.Engine.Running, o.Engine.Backlog = cfg.Running, cfg.Queued
	switch from := in.Flags["titles"]; from {
	case "", "model":
		o.OpenModel = a.OpenModel
	case "words":
	default:
		return term.Invalid("choose model or words", "--titles: %q is not a source of titles", term.Fit(from, 40))
	}
	return nil
}

// quotaOf returns the default limits of tenants.
func quotaOf(s *conf.Settings) directory.Quota {
	running, queued, cost := int64(s.TenantRunning), int64(s.TenantQueued), pricing.NanoUSD(s.TenantCost)
	return directory.Quota{
		Requests: &s.TenantRequests, Running: &running, Queued: &queued, Conversations: &s.TenantConversations, Agents: &s.TenantAgents,
		Storage: &s.TenantStorage, Tokens: &s.TenantTokens, Cost: &cost,
	}
}

// serve executes runs and serves requests until ctx ends, and then drains.
func (h *instance) serve(ctx context.Context, listener net.Listener) error {
	if runtime.GOMAXPROCS(0) == 1 {
		// Other goroutines must run while one waits for the disk: on a single core, first events otherwise
		// take six times as long when many runs begin.
		runtime.GOMAXPROCS(2)
	}
	return errors.Join(h.Serve(ctx, listener), h.close())
}

// address is the server's address in the form for clients.
func (h *instance) address(l net.Listener) string {
	switch s, ok := l.(*socket); {
	case ok && h.base == "":
		return conf.UnixPrefix + s.path
	case ok:
		return conf.UnixPrefix + s.path + ":" + h.base
	case h.tls != nil:
		return "https://" + l.Addr().String() + h.base
	default:
		return "http://" + l.Addr().String() + h.base
	}
}

// warnClear warns that tokens and conversations are not encrypted, if other machines can reach the server
// without TLS.
func (h *instance) warnClear(l net.Listener, log *slog.Logger) {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || addr.IP.IsLoopback() || h.tls != nil || h.trusts {
		return
	}
	log.Warn("tokens, keys and conversations go in clear between clients and this server; "+
		"give it --tls-cert and --tls-key, or put a proxy with TLS before it", "addr", l.Addr().String())
}

// greet prints the server's addresses and its token. Nothing else is printed on standard output, so that a
// program can read it.
func (h *instance) greet(p *process, cfg *conf.Config, url string) error {
	info := h.agents.info
	asks, page := "  token  "+h.Token().Reveal(), url+"/#token="+h.Token().Reveal()
	if h.tokenIn != "" { // the operator has it, so keep it out of logs
		asks, page = "  token  in "+term.CleanLine(h.tokenIn), url+"/"
	}
	if h.trusts {
		asks = "  token  none: whoever reaches this port is let in"
	}
	lines := []string{"braid serves on " + url, asks, "  model  " + modelWords(info), "  data   " + h.stores.where(cfg)}
	lines = append(lines, h.agentcore...)
	if h.page {
		lines = append(lines, "  page   "+page)
	}
	for _, m := range h.agents.others {
		lines = append(lines, "  then   "+modelWords(m.Info()))
	}
	for _, s := range h.agents.Servers() {
		lines = append(lines, "  tools  "+term.CleanLine(s.Name)+": "+s.Status)
	}
	if !h.trusts {
		if what := h.agents.observer.words(); what != "" {
			lines = append(lines, "  sends  "+what+" by OTLP")
		}
		lines = append(lines, "  next   braid chat --server "+url)
	}
	_, err := fmt.Fprintln(p.Stdout, strings.Join(lines, "\n"))
	return term.OutputError(err)
}

// serverToken returns the operator's token: from a named file, which servers with a shared database need,
// or from the data folder. from is the file; empty if the token is new.
func (p *process) serverToken(cfg *conf.Config, in *conf.Invocation) (token secret.Secret, from string, err error) {
	file := in.Flags["token-file"]
	if file == "" {
		return keepToken(filepath.Join(cfg.Data, conf.TokenFile))
	}
	const least = 20
	data, err := conf.ReadLimited(file, mostAddress)
	if err != nil {
		return secret.Secret{}, "", &event.Error{
			Kind: event.ErrPermission, Message: "the file with the server's token cannot be read",
			Hint: "check --token-file, and let this user read it", Err: err,
		}
	}
	t := secret.New(string(data))
	if len(t.Reveal()) < least {
		return secret.Secret{}, "", term.Invalid("put one of at least 20 characters in it, made by chance: openssl rand -hex 32",
			"the file with the server's token holds none")
	}
	return t, file, nil
}

// keepToken reads or creates the token; from is empty for a new one. The token survives a restart, so that
// clients can reconnect.
func keepToken(file string) (token secret.Secret, from string, err error) {
	fault := func(message string, err error) error {
		return &event.Error{
			Kind: event.ErrPermission, Message: message, Hint: "let only this user read and write the data folder", Err: err,
		}
	}
	data, err := os.ReadFile(file)
	switch {
	case err == nil:
		if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return secret.Secret{}, "", fault("the server's token can be read by others", nil)
		}
		if t := secret.New(string(data)); len(t.Reveal()) >= 20 {
			return t, file, nil
		}
		return secret.Secret{}, "", &event.Error{
			Kind: event.ErrInvalid, Message: "the file with the server's token holds none",
			Hint: "remove the file \"token\" in the data folder; another is made",
		}
	case !errors.Is(err, fs.ErrNotExist):
		return secret.Secret{}, "", fault("the server's token cannot be read", err)
	}
	text := "braid_" + strings.ToLower(rand.Text())
	if err := writeNew(file, text+"\n"); err != nil {
		return secret.Secret{}, "", fault("the server's token cannot be kept", err)
	}
	return secret.New(text), "", nil
}

// writeNew writes a new file. It does not follow a link of another user.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// serverLog returns the log on standard error.
func (p *process) serverLog(form string) (*slog.Logger, error) {
	if form == "" {
		form = "json"
		if term.IsTerminal(p.Stderr) {
			form = "text"
		}
	}
	switch form {
	case "text":
		return slog.New(slog.NewTextHandler(p.Stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(p.Stderr, nil)), nil
	case "none":
		return slog.New(slog.DiscardHandler), nil
	}
	return nil, term.Invalid("choose text, json or none", "--log: %q is not a format of logs", term.Fit(form, 40))
}

// detected returns the server's own model.
func (p *process) detected(ref string) string { return models.Detect(p.Getenv, ref).Model }
