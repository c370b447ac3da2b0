package mcptool

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcpauth"
)

// errPatience ends a greeting that takes too long.
var errPatience = errors.New("the server takes too long to be connected")

// server is one configured server: its session, while it has one, and what it
// said about itself the last time.
type server struct {
	config  Config
	options Options
	// secrets are what the server was given to keep; see hide.
	secrets *secret.Mask
	tokens  tokenMask
	// login signs users in; nil if nobody signs in.
	login *mcpauth.Client

	// life ends when the server is closed; work counts what must end with it.
	life    context.Context //nolint:containedctx // what runs for the server outlives every call
	kill    context.CancelFunc
	work    sync.WaitGroup
	changed chan struct{}

	mu      sync.Mutex
	closed  bool
	one     *session
	opening *opening
	starts  []time.Time
	// lists counts the lists of tools that were read.
	lists   int64
	tools   []*Tool
	skipped []Skipped
	// unfit are tools that agents or their models do without, and told what Options.Skipped was called with.
	unfit        []Skipped
	told         map[Skipped]bool
	instructions string
	// offersSignIn says that the tool to sign in is offered.
	offersSignIn bool
	about        about
	err          error

	// calls wait for their users.
	calls openCalls
}

// about is what a server says of itself.
type about struct{ protocol, name, version string }

// opening is a connection in the making, which several may wait for.
type opening struct {
	done chan struct{}
	one  *session
	err  error
}

func newServer(c Config, o Options, login *mcpauth.Client) *server {
	s := &server{config: c, options: o, login: login, secrets: secretsOf(&c), changed: make(chan struct{}, 1)}
	s.life, s.kill = context.WithCancel(context.Background())
	s.work.Go(s.follow)
	return s
}

// session gives the live session, or makes one: one for all who ask.
func (s *server) session(ctx context.Context) (*session, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fault(s.config.Name, event.ErrGone, "is closed", "connect to it again", nil)
	}
	if s.one != nil && s.one.alive() {
		defer s.mu.Unlock()
		return s.one, nil
	}
	o := s.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		old := s.one
		s.opening, s.one = o, nil
		s.work.Go(func() { s.open(o, old) })
	}
	s.mu.Unlock()
	select {
	case <-o.done:
		return o.one, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open makes a session and lists its tools.
func (s *server) open(o *opening, old *session) {
	if old != nil {
		old.close()
	}
	ctx, cancel := context.WithTimeoutCause(s.life, s.options.ConnectTimeout, errPatience)
	defer cancel()
	one, err := s.connect(ctx)
	if err == nil {
		if err = s.list(ctx, one); err != nil {
			one.close()
			one = nil
		}
	}
	s.noteSignIn(ctx)
	if err != nil && s.life.Err() != nil {
		err = fault(s.config.Name, event.ErrGone, "is closed", "connect to it again", nil)
	}
	s.mu.Lock()
	if s.closed && one != nil {
		s.mu.Unlock()
		one.close()
		s.mu.Lock()
		one, err = nil, fault(s.config.Name, event.ErrGone, "is closed", "connect to it again", nil)
	}
	s.one, s.opening, s.err = one, nil, err
	o.one, o.err = one, err
	s.mu.Unlock()
	close(o.done)
}

// drop gives a session up, if it is still the one in use.
func (s *server) drop(one *session) {
	s.mu.Lock()
	mine := s.one == one
	if mine {
		s.one = nil
	}
	s.mu.Unlock()
	if mine {
		one.close()
	}
}

// mayStart bounds how often a program is started: one that ends at once would
// be started for ever.
func (s *server) mayStart(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = slices.DeleteFunc(s.starts, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(s.starts) > s.options.Restarts {
		e := fault(s.config.Name, event.ErrUnavailable, fmt.Sprintf("ended %d times within a minute", len(s.starts)),
			"start its command by hand to see why", nil)
		e.RetryAfter = time.Minute - now.Sub(s.starts[0])
		if s.err != nil {
			e.Err = s.err
		}
		return e
	}
	s.starts = append(s.starts, now)
	return nil
}

// list asks for the tools, and takes in what the server said of itself.
func (s *server) list(ctx context.Context, one *session) error {
	said := one.cs.InitializeResult()
	wire, more, err := one.pages(ctx, s.wanted, s.options.MaxTools, s.options.MessageBytes)
	if err != nil {
		// A server without tools need not know the question.
		e := serverError(err, nil)
		if e == nil || e.Code != jsonrpc.CodeMethodNotFound || said.Capabilities != nil && said.Capabilities.Tools != nil {
			if e != nil && ctx.Err() == nil {
				return fault(s.config.Name, event.ErrUnavailable, "does not list its tools: "+shorten.Text(clean(s.hide(e.Message)), 500, "…"),
					"look at its log, then try again", s.quiet(err))
			}
			if ctx.Err() != nil && errors.Is(context.Cause(ctx), errPatience) {
				return fault(s.config.Name, event.ErrTimeout, fmt.Sprintf("did not list its tools within %v", s.options.ConnectTimeout),
					"see that nothing slows it down", err)
			}
			var f *flight
			if l, ok := errors.AsType[*listError](err); ok {
				f = l.flight
			}
			return s.transportFault(ctx, err, f, one.p, "")
		}
	}
	var tools []*Tool
	var skipped []Skipped
	seen := map[string]bool{}
	for _, w := range wire {
		switch {
		case strings.TrimSpace(w.Name) == "":
			skipped = append(skipped, s.skip(w.Name, "it has no name"))
			continue
		case seen[w.Name]:
			skipped = append(skipped, s.skip(w.Name, "the server lists two tools of this name, and the first one counts"))
			continue
		}
		seen[w.Name] = true
		schema, why := fitSchema(w.Schema)
		if why != "" {
			skipped = append(skipped, s.skip(w.Name, why))
			continue
		}
		tools = append(tools, newTool(s, w, schema))
	}
	tools = append(tools, s.ownTools(said.Capabilities, seen)...)
	for _, pattern := range s.config.Tools {
		if !seen[pattern] && !slices.ContainsFunc(wire, func(w wireTool) bool { return fits(pattern, w.Name) }) {
			skipped = append(skipped, Skipped{Tool: pattern, Why: "the server has no such tool"})
		}
	}
	if more {
		skipped = append(skipped, Skipped{Why: fmt.Sprintf("the server's list goes on after %d tools; name the ones to take", len(wire))})
	}
	defer s.tellSkipped(skipped...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.skipped, s.unfit = tools, skipped, nil
	s.lists++
	s.instructions = s.hide(said.Instructions)
	s.about = about{protocol: said.ProtocolVersion}
	if said.ServerInfo != nil {
		s.about.name, s.about.version = said.ServerInfo.Name, said.ServerInfo.Version
	}
	return nil
}

// wanted reports whether a tool is among those to take.
func (s *server) wanted(name string) bool {
	return len(s.config.Tools) == 0 || slices.ContainsFunc(s.config.Tools, func(pattern string) bool { return fits(pattern, name) })
}

// fits reports whether a pattern is a tool's name or matches it.
func fits(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// stale says that the list of tools has changed. It never waits: it is called
// from the connection's own goroutine.
func (s *server) stale() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// follow asks for the list again when it has changed.
func (s *server) follow() {
	for {
		select {
		case <-s.life.Done():
			return
		case <-s.changed:
		}
		s.mu.Lock()
		one := s.one
		s.mu.Unlock()
		if one == nil || !one.alive() {
			continue // the next session lists anew
		}
		ctx, cancel := context.WithTimeoutCause(s.life, s.options.ConnectTimeout, errPatience)
		err := s.list(ctx, one)
		cancel()
		if err == nil && s.options.Changed != nil {
			s.options.Changed(s.config.Name)
		}
	}
}

// close ends the session and waits for all that belongs to the server.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	one := s.one
	s.one = nil
	s.mu.Unlock()
	s.kill()
	s.calls.end()
	if one != nil {
		one.close()
	}
	s.work.Wait()
}
