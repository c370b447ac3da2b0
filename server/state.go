package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
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
	// Webhooks sends messages to addresses of tenants. nil means that none are sent.
	Webhooks *webhooks.Outbox
	// Base is the path below which all paths of the server are, such as "/braid", for a server
	// that shares a proxy with others; empty is none.
	Base string
	// PublicURL is the address under which browsers reach the server, with the base path, for sign-ins to MCP servers.
	// Empty means that nobody signs in.
	PublicURL string
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
