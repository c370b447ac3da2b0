package mcptool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcpauth"
)

// Servers are the MCP servers of an agent, and a [tool.Source] of it: give them to an agent with
// [github.com/braidrun/braid.From]. Close them when they are no longer
// needed. All methods are safe for concurrent use.
type Servers struct {
	list  []*server
	order Options
	// followers take over what changes.
	followers followers
}

var _ tool.ServerSource = (*Servers)(nil)

// State is how a server is doing, in the words that clients of agents know.
type State string

// The states of a server.
const (
	StateConnected State = "connected"
	// StateFailed: it could not be reached, or is gone. The next call tries again.
	StateFailed    State = "failed"
	StateNeedsAuth State = "needs-auth"
	StateDisabled  State = "disabled"
)

// Status is a server as it is now.
type Status struct {
	Name  string
	State State
	// Err is why the server is not connected. [Stderr] has the last words of
	// one that is a program.
	Err error
	// Tools is how many of its tools are used; Skipped are the others, and those that an agent or its model does without.
	Tools   int
	Skipped []Skipped
	// Protocol is the version that is spoken; Server and Version are what the
	// server calls itself.
	Protocol string
	Server   string
	Version  string
}

// Skipped is a tool that was left out, and why. A name of "" stands for the
// rest of a list.
type Skipped struct{ Tool, Why string }

// Connect starts or reaches the servers, all at once, and lists their tools.
// Where the configuration is wrong or a server cannot be reached, it
// gives an error for each, joined, with kinds of package event, and leaves
// nothing running. ctx bounds connecting only. Use [Reach] to go on with the servers that
// are there.
func Connect(ctx context.Context, o Options, configs ...Config) (*Servers, error) {
	s, err := Reach(ctx, o, configs...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, st := range s.Status() {
		if st.Err != nil {
			errs = append(errs, st.Err)
		}
	}
	if err := ctx.Err(); err != nil && len(errs) > 0 {
		errs = []error{err}
	}
	if len(errs) > 0 {
		_ = s.Close()
		if len(errs) == 1 {
			return nil, errs[0]
		}
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// Reach is [Connect] for a program that does not depend on any one server: a
// server that cannot be reached has no tools, [Servers.Status] tells why, and
// [Servers.Refresh] tries again. Only a wrong configuration is an error.
func Reach(ctx context.Context, o Options, configs ...Config) (*Servers, error) {
	o = o.withDefaults()
	names := map[string]bool{}
	for i := range configs {
		c := &configs[i]
		if e := c.check(); e != nil {
			return nil, e
		}
		if names[c.Name] {
			return nil, badConfig("", fmt.Sprintf("has two servers called %q", c.Name), "rename one of them", nil)
		}
		names[c.Name] = true
		if c.Command != "" && !o.Commands && !c.Disabled {
			return nil, fault(c.Name, event.ErrPermission, "is a program, and starting programs is turned off",
				"turn it on for servers that you trust with this computer, or give a url", nil)
		}
		if name := unexpanded(c); name != "" && !c.Disabled {
			return nil, badConfig(c.Name, "needs "+name+", which was not filled in", "expand the configuration first", nil)
		}
	}
	logins := make([]*mcpauth.Client, len(configs))
	for i := range configs {
		var err error
		if logins[i], err = loginOf(&configs[i], &o); err != nil {
			return nil, err
		}
	}
	s := &Servers{order: o}
	changed := o.Changed
	o.Changed = func(server string) {
		s.handAll()
		if changed != nil {
			changed(server)
		}
	}
	for i, c := range configs {
		s.list = append(s.list, newServer(c, o, logins[i]))
	}
	s.Refresh(ctx)
	return s, nil
}

// unexpanded finds a placeholder where one cannot be meant literally.
func unexpanded(c *Config) string {
	var names []string
	look := func(v string) {
		expand(v, func(name string) (string, bool) { names = append(names, name); return "", true }, &names)
	}
	look(c.URL)
	look(c.Proxy)
	for _, v := range c.Headers {
		look(v.Reveal())
	}
	if c.OAuth != nil {
		look(c.OAuth.ClientID)
		look(c.OAuth.ClientSecret.Reveal())
		look(c.OAuth.Issuer)
	}
	for _, v := range c.Env {
		look(v.Reveal())
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// Refresh tries to reach the servers that are not connected, all at once, and waits until each
// is connected or has failed. It is cheap where all are.
func (s *Servers) Refresh(ctx context.Context) {
	var wait sync.WaitGroup
	for _, one := range s.list {
		if !one.config.Disabled {
			wait.Go(func() {
				_, err := one.session(ctx)
				one.mu.Lock()
				if err != nil && one.one == nil && one.err == nil {
					one.err = err // ctx ended before the server was reached
				}
				one.mu.Unlock()
			})
		}
	}
	wait.Wait()
	s.handAll()
}

// Tools are the tools of all servers, with names that do not clash (see
// [Options.Naming]), in the order of the servers and of their lists. They are the
// tools of this moment: agents that are made later may get others. Each is a
// [*Tool].
func (s *Servers) Tools() []tool.Tool {
	var all []*Tool
	for _, one := range s.list {
		one.mu.Lock()
		all = append(all, one.tools...)
		if one.offersSignIn {
			all = append(all, newSignIn(one))
		}
		one.mu.Unlock()
	}
	names := nameTools(all, s.order.Naming, s.order.Reserved)
	tools := make([]tool.Tool, len(all))
	for i, t := range all {
		tools[i] = t.named(names[i])
	}
	return tools
}

// Instructions implement [tool.Source]: what the servers say about their use, as [Servers.Prompt] frames it.
func (s *Servers) Instructions() string { return s.Prompt("") }

// ToolServers implements [tool.ServerSource]: how each server is doing, and which of its tools are left out.
func (s *Servers) ToolServers() []event.ToolServer {
	status := s.Status()
	list := make([]event.ToolServer, len(status))
	for i := range status {
		list[i] = event.ToolServer{Name: status[i].Name, Status: string(status[i].State), Reason: s.list[i].reason(&status[i])}
		for _, t := range s.list[i].listSkipped() {
			list[i].Skipped = append(list[i].Skipped, event.SkippedTool(t))
		}
	}
	return list
}

// reason says for users why a server is not connected. It keeps to itself which program the operator starts.
func (s *server) reason(of *Status) string {
	if of.State == StateConnected || of.Err == nil {
		return ""
	}
	if s.config.Command != "" {
		return "the program of the MCP server " + strconv.Quote(of.Name) + " does not run"
	}
	if e, ok := errors.AsType[*event.Error](of.Err); ok {
		return shorten.Text(clean(e.Message), 500, "…")
	}
	return ""
}

// Announced returns a source without tools of its own, for an agent that has only some of the servers' tools. It reports the
// servers that wanted accepts when a run begins. wanted must be safe for concurrent use.
func (s *Servers) Announced(wanted func(Status) bool) tool.ServerSource { return announced{s, wanted} }

type announced struct {
	servers *Servers
	wanted  func(Status) bool
}

func (announced) Tools() []tool.Tool { return nil }

func (announced) Instructions() string { return "" }

func (a announced) ToolServers() []event.ToolServer {
	var list []event.ToolServer
	all := a.servers.ToolServers()
	for i, status := range a.servers.Status() {
		if a.wanted(status) {
			list = append(list, all[i])
		}
	}
	return list
}

// Prompt is base, the agent's own instructions, and below it what the servers
// say about their use: each framed as the word of that server, at most
// [Options.InstructionBytes] of it. It is base alone where no server says
// anything. It is for
// a program that places them itself; an agent that is given the servers has them below its own.
func (s *Servers) Prompt(base string) string { return below(base, Framed(s.Frames())) }

// Frames returns what the servers say about their use, each framed as in [Servers.Prompt], without the words that
// introduce them; "" where no server says anything. See [Framed].
func (s *Servers) Frames() string {
	var said []string
	for _, one := range s.list {
		one.mu.Lock()
		text := one.instructions
		one.mu.Unlock()
		if text = frame(one.config.Name, text, s.order.InstructionBytes); text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n\n")
}

// Framed returns frames of one or more [Servers] with the words that introduce them; "" where all are empty.
func Framed(frames ...string) string {
	all := strings.Join(slices.DeleteFunc(slices.Clone(frames), func(f string) bool { return f == "" }), "\n\n")
	if all == "" {
		return ""
	}
	return instructionsLead + "\n\n" + all
}

func below(base, text string) string {
	if base == "" || text == "" {
		return base + text
	}
	return base + "\n\n" + text
}

// Status tells how each server is doing, in the order of the configuration.
func (s *Servers) Status() []Status {
	list := make([]Status, 0, len(s.list))
	for _, one := range s.list {
		one.mu.Lock()
		st := Status{
			Name: one.config.Name, State: StateConnected, Err: one.err, Tools: len(one.tools), Skipped: slices.Concat(one.skipped, one.unfit),
			Protocol: one.about.protocol, Server: one.about.name, Version: one.about.version,
		}
		switch {
		case one.config.Disabled:
			st.State = StateDisabled
		case errors.Is(one.err, event.ErrUnauthenticated):
			st.State = StateNeedsAuth
		case one.one == nil || !one.one.alive():
			st.State = StateFailed
		}
		one.mu.Unlock()
		list = append(list, st)
	}
	return list
}

// Waiting counts the calls that are open at their servers while users think about a question: see [ElicitationQuestion].
// They end if the servers are closed.
func (s *Servers) Waiting() (n int) {
	for _, one := range s.list {
		n += one.calls.waiting()
	}
	return n
}

// Close ends all sessions and programs, at the same time, and waits for them: a
// program has its input closed, then is asked to end, then is killed, with
// [Options.Grace] in between. Calls in flight fail. It never fails itself.
func (s *Servers) Close() error {
	var wait sync.WaitGroup
	for _, one := range s.list {
		wait.Go(one.close)
	}
	wait.Wait()
	return nil
}
