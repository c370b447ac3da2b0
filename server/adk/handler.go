package adk

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire/native"
)

// Prefix is the path of all routes, below the server's base path.
const Prefix = "/adk"

// Options configure the routes.
type Options struct {
	front.Options

	// Directory knows the agents of tenants; nil means that there are none beside the server's own.
	Directory *directory.Directory
	// Version is what /version says.
	Version string
}

// handler answers the requests of all routes.
type handler struct {
	front   front.Options
	people  *directory.Directory
	version string
	routes  *http.ServeMux
	cross   hostcheck.Cross
}

// route is one operation. A route with a scope needs a credential for it.
type route struct {
	pattern string
	scope   service.Scope
	answer  func(h *handler, x *front.Exchange, body []byte) error
}

// New makes a handler, which is safe for concurrent use.
func New(o Options) http.Handler {
	h := &handler{front: o.WithDefaults(), people: o.Directory, version: o.Version, routes: http.NewServeMux()}
	h.cross = hostcheck.Cross{
		Origins: o.Origins, Methods: "GET, POST, PATCH, DELETE", Headers: "Authorization, Content-Type, Last-Event-ID, Traceparent, Tracestate",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, X-Conversation-Id, X-Run-Id",
	}
	top := h.front.Base + Prefix
	for _, rt := range routes {
		method, path, _ := strings.Cut(rt.pattern, " ")
		h.routes.Handle(method+" "+top+path, h.serve(&rt, path))
	}
	h.routes.Handle(top+"/", h.serve(&route{answer: func(*handler, *front.Exchange, []byte) error {
		return front.Refusal(event.ErrNotFound, "there is no such route", "look at the list of routes in the guide")
	}}, "none"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, top+"/") {
			h.front.Next.ServeHTTP(w, r)
			return
		}
		h.routes.ServeHTTP(w, r)
	})
}

// serve answers a route. name is for logs and metrics.
func (h *handler) serve(rt *route, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &front.Exchange{Options: &h.front, W: w, R: r, Route: Prefix + name}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		x.Serve(func() error { return h.answer(rt, x) }, func(err error) { refuse(x, err) })
	})
}

// answer checks a request, reads its body and has it answered.
func (h *handler) answer(rt *route, x *front.Exchange) error {
	answered, err := front.Foreign(x.W, x.R, h.front.Hosts, h.front.Origins, &h.cross)
	if answered {
		x.Status = http.StatusNoContent
	}
	if err != nil || answered {
		return err
	}
	authenticate := func() (err error) {
		token, given := strings.CutPrefix(x.R.Header.Get("Authorization"), "Bearer ")
		if !given {
			token = ""
		}
		if x.Who, err = h.front.Door.OpenFor(x.R, secret.New(token)); err != nil {
			return err
		}
		return x.Who.Require(rt.scope)
	}
	if rt.scope != "" {
		if err := authenticate(); err != nil {
			return err
		}
		if err := h.front.Door.Pass(x.R.Context(), &x.Who, x.W.Header()); err != nil {
			return err
		}
	}
	var body []byte
	if rt.scope != "" && x.R.Method != http.MethodGet && x.R.Method != http.MethodDelete {
		if body, err = x.Body(authenticate); err != nil {
			return err
		}
	}
	return rt.answer(h, x, body)
}

// refuse answers with an error: "detail" as adk-python has it, and the code of the native API.
func refuse(x *front.Exchange, err error) {
	detail, status := native.ErrorOf(err)
	x.Refuse(err, status, detail.Code)
	if status == http.StatusUnauthorized {
		x.W.Header().Set("WWW-Authenticate", `Bearer realm="braid"`)
	}
	text := detail.Message
	if detail.Hint != "" {
		text += ": " + detail.Hint
	}
	reply(x, status, map[string]string{"detail": text, "code": detail.Code})
}

// reply answers with JSON.
func reply(x *front.Exchange, status int, v any) {
	x.W.Header().Set("Content-Type", "application/json")
	x.Head(status)
	_ = json.NewEncoder(x.W).Encode(v) //nolint:errchkjson // who does not read it any more needs no error
}

// routes are all routes of the wire. The paths are those of adk-python 2.5.
var routes = []route{
	{"GET /health", "", (*handler).health},
	{"GET /version", "", (*handler).versions},
	{"GET /list-apps", service.ScopeRead, (*handler).listApps},
	{"GET /apps/{app}/app-info", service.ScopeRead, (*handler).appInfo},
	{"GET /apps/{app}/users/{user}/sessions", service.ScopeRead, (*handler).listSessions},
	{"POST /apps/{app}/users/{user}/sessions", service.ScopeWrite, (*handler).createSession},
	{"GET /apps/{app}/users/{user}/sessions/{session}", service.ScopeRead, (*handler).getSession},
	{"POST /apps/{app}/users/{user}/sessions/{session}", service.ScopeWrite, (*handler).createNamedSession},
	{"PATCH /apps/{app}/users/{user}/sessions/{session}", service.ScopeWrite, (*handler).patchSession},
	{"DELETE /apps/{app}/users/{user}/sessions/{session}", service.ScopeWrite, (*handler).deleteSession},
	{"GET /apps/{app}/users/{user}/sessions/{session}/artifacts", service.ScopeRead, (*handler).listArtifacts},
	{"POST /apps/{app}/users/{user}/sessions/{session}/artifacts", service.ScopeWrite, (*handler).saveArtifact},
	{"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{path...}", service.ScopeRead, (*handler).getArtifact},
	{"DELETE /apps/{app}/users/{user}/sessions/{session}/artifacts/{path...}", service.ScopeWrite, (*handler).deleteArtifact},
	{"POST /run", service.ScopeWrite, (*handler).run},
	{"POST /run_sse", service.ScopeWrite, (*handler).runSSE},
	{"GET /dev/apps/{app}/eval_sets", service.ScopeRead, (*handler).noEvaluations},
	{"GET /dev/apps/{app}/eval_results", service.ScopeRead, (*handler).noEvaluations},
	{"GET /run_live", service.ScopeWrite, (*handler).runLive},
}

func (*handler) health(x *front.Exchange, _ []byte) error {
	x.Quiet()
	reply(x, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (h *handler) versions(x *front.Exchange, _ []byte) error {
	reply(x, http.StatusOK, map[string]string{"version": h.version, "language": "go", "language_version": goVersion})
	return nil
}

// noEvaluations lists the eval sets, or their results, of an app: there are none here.
func (h *handler) noEvaluations(x *front.Exchange, _ []byte) error {
	if _, err := h.app(x.R.Context(), x.Who.Principal, x.R.PathValue("app")); err != nil {
		return err
	}
	reply(x, http.StatusOK, []string{})
	return nil
}

func (*handler) runLive(x *front.Exchange, _ []byte) error {
	reply(x, http.StatusNotImplemented, map[string]string{
		"detail": "live sessions with audio and video are not supported: use /run_sse", "code": "UNSUPPORTED",
	})
	return nil
}
