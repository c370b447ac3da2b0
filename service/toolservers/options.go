package toolservers

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/braidrun/braid/tool/mcptool"
)

// Options configure a [Pool]. The zero value connects to public HTTPS servers only.
type Options struct {
	// AllowHosts are hosts beside public ones that tenants' servers may have:
	// [github.com/braidrun/braid/netguard.Options].Allow.
	AllowHosts []string
	// Programs are the programs that tenants may use as servers of type stdio, by their names. nil
	// means none. Each tenant gets a process of its own.
	Programs map[string]mcptool.Config
	// Version is the version of this program that servers are told.
	Version string
	// SignIns have users sign in to servers with OAuth.
	SignIns SignIns
	// Patience bounds how long a run waits for a server. Default 5 s.
	Patience time.Duration
	// ConnectTimeout bounds connecting a server and listing its tools. A required server is waited
	// for so long. Default 30 s.
	ConnectTimeout time.Duration
	// RetryAfter is how long a server that has failed is not tried again. Default 30 s.
	RetryAfter time.Duration
	// ListEvery is how old a list of tools may be when a run begins. Default 1 minute.
	ListEvery time.Duration
	// Idle is how long an unused connection stays open. Default 10 minutes.
	Idle time.Duration
	// Most bounds the open connections. Default 4096.
	Most int
	// Log receives what no caller learns. nil discards it.
	Log *slog.Logger
}

// These bound what a server may say.
const (
	// MostTools bounds the tools of one server.
	MostTools = 1000
	// mostBytes bounds one message, and the list of a server's tools.
	mostBytes = 8 << 20
	// mostText bounds the text of one result.
	mostText = 256 << 10
	// mostDescription bounds the description of a tool.
	mostDescription = 4 << 10
	// mostSchema bounds the schema of a tool's arguments.
	mostSchema = 64 << 10
	// mostInstructions bounds what a server says in the system prompt, and mostSaid what all servers
	// of a run say.
	mostInstructions = 4 << 10
	mostSaid         = 32 << 10
	// mostDocument bounds an OpenAPI document.
	mostDocument = 16 << 20
)

func (o Options) withDefaults() Options {
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 30*time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 30*time.Second)
	o.ListEvery = cmp.Or(o.ListEvery, time.Minute)
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	o.Most = cmp.Or(o.Most, 4096)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
