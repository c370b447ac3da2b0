package mcptool

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/braidrun/braid/tool/mcpauth"
)

// Naming says what the tools are called for the model.
type Naming uint8

const (
	// Bare names a tool as its server does. Only tools that several servers
	// have, or whose names are in [Options.Reserved], are called
	// "server___tool". The zero value, meant for programs with few servers.
	Bare Naming = iota
	// Prefixed names every tool "server___tool", as AgentCore's gateway does
	// (seed 1). Names then do not depend on which other servers there are: meant
	// for whoever keeps conversations while servers come and go.
	Prefixed
	// ClaudeStyle names every tool "mcp__server__tool", as Claude's agent SDK
	// does, for permission rules that were written for it.
	ClaudeStyle
)

// Options are what the program that hosts agents decides, for all servers.
// The zero value is closed and usable: HTTP servers only, nobody trusted.
type Options struct {
	// Commands allows servers that are programs to be started here, with this
	// process's rights. Without it a [Config] with a command is refused.
	Commands bool
	// Inherit lists the variables of this process's environment that children
	// get, if set. Nil means PATH, HOME and others of that kind, which hold no
	// secrets (see [DefaultInherit]); an empty list means none. What stands in
	// [Config.Env] comes on top.
	Inherit []string
	// Trusted lists the servers whose own word about their tools counts:
	// readOnlyHint makes a tool pure and idempotentHint idempotent. A tool of
	// any other server is unsafe: after a crash, its call is in doubt and never
	// repeated.
	Trusted []string

	// Naming is what the tools are called; Reserved are names that the agent
	// uses already, for its own tools.
	Naming   Naming
	Reserved []string

	// ConnectTimeout bounds starting or reaching a server, its greeting and the
	// list of its tools; default 30 s.
	ConnectTimeout time.Duration
	// CallTimeout bounds one call; 0 means the agent's own limit (10 minutes).
	CallTimeout time.Duration
	// Grace is how long a program may take to end after its input was closed,
	// and again after it was asked to (TERM), before it is killed; default 2 s.
	Grace time.Duration
	// Restarts is how often in a minute a program that has gone is started
	// again; default 5.
	Restarts int

	// MessageBytes bounds one message of a server; default 16 MiB. A server that
	// sends more has broken its connection.
	MessageBytes int
	// TextBytes bounds the text of one result; default 256 KiB. What is over is
	// cut, and the text says so. Images and files are bound by MessageBytes and
	// by [github.com/braidrun/braid.Limits].
	TextBytes int
	// MaxTools bounds the tools that are taken from one server; default 1000.
	// What is over is left out, and [Status.Skipped] says so. Together with their
	// descriptions and schemas they may be as long as one message.
	MaxTools int
	// InstructionBytes bounds what one server says in the prompt; default 8 KiB,
	// negative means that servers say nothing there.
	InstructionBytes int

	// Transport carries HTTP; nil is a transport like Go's default one, with the proxy that [Config.Proxy] says. This is
	// where a guard of outgoing connections goes.
	Transport http.RoundTripper
	// SignIn gives what signs the user in to an HTTP server with OAuth: see [SignInWith]. nil, as a field or as a result,
	// means that nobody signs in. It is not called for a server with an Authorization header, with [Config.SSE] or with
	// [OAuth.Off]. A call that needs the user to sign in asks a question: see [SignInQuestion].
	SignIn func(c Config) (*mcpauth.Client, error)
	// OAuth gives the authorization of an HTTP server to which nobody signs in with SignIn; nil, as a field or as a
	// result, means none but the configured headers. It is the SDK's own type.
	OAuth func(c Config) auth.OAuthHandler
	// Elicit answers what a server asks a person in the middle of a call. Nil
	// tells servers that nobody can be asked. It may be called concurrently.
	Elicit func(ctx context.Context, q Question) (Reply, error)
	// ElicitAsQuestion has what a server asks a person be a question of the run: see [ElicitationQuestion]. The run waits,
	// without a worker, until its user has answered. It does nothing if Elicit is set.
	ElicitAsQuestion bool
	// ToolsOnly leaves out the tools that list and read the resources and prompts of servers that have some.
	ToolsOnly bool
	// Changed is called with a server's name after its list of tools has
	// changed. Agents that exist keep the tools they have, unless they follow
	// ([Servers.Follow]). It must not block for long.
	Changed func(server string)

	// Skipped is called with a server's name and a tool of it that is left out, once for each reason: when the list is read,
	// and when an agent or its model turns out not to take the tool ([github.com/braidrun/braid/tool.Optional]). It must not block for long.
	Skipped func(server string, s Skipped)

	// Protocol fixes the version that is offered first, such as "2025-06-18".
	// Empty means the newest, and an older one where the server wants it.
	Protocol string
	// Client is the name and version that servers are told; default "braid".
	Client, ClientVersion string
}

// Question is what a server asks a person.
type Question struct {
	Server  string
	Message string
	// Schema describes the answer: an object of plain fields. Nil where the
	// person is to visit URL instead.
	Schema json.RawMessage
	URL    string
}

// Reply is the answer to a [Question].
type Reply struct {
	// Action is "accept", "decline" or "cancel"; empty counts as "cancel".
	Action  string
	Content map[string]any
}

// DefaultInherit lists the variables that a child gets from this process's
// environment where [Options.Inherit] is nil.
func DefaultInherit() []string { return slices.Clone(harmless) }

var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	// Without these, programs do not start on Windows.
	"APPDATA", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE",
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.Inherit == nil {
		o.Inherit = harmless
	}
	def(&o.ConnectTimeout, 30*time.Second)
	def(&o.Grace, 2*time.Second)
	def(&o.Restarts, 5)
	def(&o.MessageBytes, 16<<20)
	def(&o.TextBytes, 256<<10)
	def(&o.MaxTools, 1000)
	if o.InstructionBytes == 0 {
		o.InstructionBytes = 8 << 10
	}
	if o.Client == "" {
		o.Client = "braid"
	}
	if o.ClientVersion == "" {
		o.ClientVersion = "0"
	}
	return o
}

func def[T int | time.Duration](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}
