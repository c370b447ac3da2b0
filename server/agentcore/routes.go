package agentcore

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// route is the destination of a request.
type route struct {
	// name is the route's name in logs and metrics.
	name   string
	method string
	door   bool
	// scope is the scope that the credential must have; "" requires no credential.
	scope  service.Scope
	handle func(*exchange) error
	// arn is the ARN in the path.
	arn string
}

// find returns the route of a request. found is false for paths that are not AgentCore's.
func (h *Handler) find(r *http.Request) (rt route, found bool) {
	const write = service.ScopeWrite
	path, below := strings.CutPrefix(r.URL.EscapedPath(), h.options.Base)
	if !below {
		return route{}, false
	}
	switch path {
	case "/invocations":
		return route{name: path, method: http.MethodPost, scope: write, handle: (*exchange).invoke}, true
	case "/ping":
		return route{name: path, method: http.MethodGet, handle: (*exchange).ping}, true
	case "/ws":
		return route{name: path, method: http.MethodGet, scope: write, handle: (*exchange).socket}, true
	default:
		rest, ok := strings.CutPrefix(path, "/runtimes/")
		if !ok || h.door == nil {
			return route{}, false
		}
		return doorRoute(rest), true
	}
}

// doorRoute returns the route of a path of the AWS endpoints. The ARN is one percent-encoded
// segment; it may also be unescaped.
func doorRoute(rest string) route {
	const read, write = service.ScopeRead, service.ScopeWrite
	for _, rt := range []route{
		{name: "/invocations", method: http.MethodPost, scope: write, handle: (*exchange).invoke},
		{name: "/invocations/.well-known/agent-card.json", method: http.MethodGet, scope: read, handle: (*exchange).card},
		{name: "/stopruntimesession", method: http.MethodPost, scope: write, handle: (*exchange).stop},
		{name: "/ws", method: http.MethodGet, scope: write, handle: (*exchange).socket},
	} {
		arn, ok := strings.CutSuffix(rest, rt.name)
		if !ok {
			continue
		}
		if arn, err := url.PathUnescape(arn); err == nil {
			rt.name, rt.door, rt.arn = "/runtimes/{arn}"+rt.name, true, arn
			return rt
		}
	}
	return route{name: "/runtimes/", door: true, handle: (*exchange).unknown}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, found := h.find(r)
	if !found && h.options.Next != nil {
		h.options.Next.ServeHTTP(w, r)
		return
	}
	x := newExchange(h, w, r, rt.door, rt.scope)
	if !found {
		rt = route{name: "none", handle: (*exchange).unknown}
	}
	if x.Route = rt.name; rt.name == "/ping" {
		x.Quiet() // the platform pings all the time
	}
	x.Serve(func() error { return x.serve(&rt) }, x.refuse)
}

// serve checks a request's host, origin and credential, and calls its handler.
func (x *exchange) serve(rt *route) error {
	o := &x.h.options
	if !o.TrustPlatform {
		answered, err := front.Foreign(x.W, x.R, o.Hosts, o.Origins, &x.h.cross)
		if answered {
			x.Status = http.StatusNoContent
		}
		if err != nil || answered {
			return err
		}
	}
	if rt.method != "" && x.R.Method != rt.method {
		x.W.Header().Set("Allow", rt.method)
		return &fault{http.StatusMethodNotAllowed, validation, "this path does not take that method", "use " + rt.method}
	}
	if rt.scope != "" {
		if err := x.authenticate(x.scope); err != nil {
			return err
		}
		if err := x.h.entry.Pass(x.R.Context(), &x.Who, x.W.Header()); err != nil {
			return err
		}
	}
	if rt.door && rt.scope != "" && !x.h.door.answers(rt.arn, x.R.URL.Query()) {
		return front.Refusal(event.ErrNotFound, "there is no such agent runtime, or no such endpoint of it",
			"look at the ARN, and leave the qualifier out or say DEFAULT")
	}
	return rt.handle(x)
}

// unknown responds to an unknown path.
func (x *exchange) unknown() error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such path", Hint: "use POST /invocations or GET /ping"}
}
