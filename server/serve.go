package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// guard refuses requests that must not reach any route, such as those with a foreign Host or Origin.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-ID")
		if !isID(id) {
			id = "req_" + strings.ToLower(rand.Text())
		}
		w.Header().Set("X-Request-ID", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r = r.WithContext(context.WithValue(r.Context(), requestID{}, id))
		if r.ContentLength != 0 {
			// Also where nobody reads it: net/http waits for the rest of it before it answers.
			// With the body's end, or the next request, the deadline is gone.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.BodyTime)) // a connection that has none is bounded otherwise
		}
		answered, err := front.Foreign(w, r, s.options.Hosts, s.options.Origins, &s.cross)
		if err != nil {
			s.turnAway(w, r, err)
		}
		if err != nil || answered {
			return
		}
		if p := r.URL.EscapedPath(); clean(p) != p || !isText(r.URL.Path) {
			// The mux would send the caller elsewhere, in a form that is not ours; and of what is no
			// text there is no id, in whichever database.
			s.turnAway(w, r, &event.Error{
				Kind: event.ErrNotFound, Message: "there is no such path", Hint: "/openapi.json lists them; write them without . and .. and //",
			})
			return
		}
		r, ok := s.below(r)
		if !ok {
			s.turnAway(w, r, noSuchPath(w, r))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// below takes the base path away; ok is false for what is not below it.
func (s *Server) below(r *http.Request) (_ *http.Request, ok bool) {
	if s.options.Base == "" {
		return r, true
	}
	rest, ok := strings.CutPrefix(r.URL.Path, s.options.Base)
	if !ok || !strings.HasPrefix(rest, "/") {
		return r, false
	}
	there := *r.URL
	there.Path, there.RawPath = rest, strings.TrimPrefix(r.URL.RawPath, s.options.Base)
	under := *r
	under.URL = &there
	return &under, true
}

// clean is a path as the mux would have it.
func clean(p string) string {
	if p == "" || p[0] != '/' {
		return "/"
	}
	c := path.Clean(p)
	if p[len(p)-1] == '/' && c != "/" {
		c += "/"
	}
	return c
}

// turnAway refuses a request that reached no route.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	a := &answer{ResponseWriter: w, time: s.options.WriteTime}
	s.refuse(a, r, err)
	s.note(r, "", "none", a, 0)
}

// note counts a request and logs it: the route and never the path, which the caller chooses.
func (s *Server) note(r *http.Request, method, route string, a *answer, took time.Duration) {
	s.metrics.Request(method, route, a.status(), took)
	list := s.about(r, a.refusal)
	if run := a.Header().Get("X-Run-Id"); run != "" {
		list = append(list, slog.String("run", run))
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", append(list, slog.String("method", method),
		slog.String("route", route), slog.Int("status", a.status()), slog.Duration("took", took))...)
}

// serve handles a request of a route: it checks the credential, calls the handler, answers an error and logs the request.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		a := &answer{ResponseWriter: w, time: s.options.WriteTime}
		defer func() { a.hold.Release() }()
		r = r.WithContext(context.WithValue(r.Context(), atRoute{}, &rt))
		defer func() {
			if v := recover(); v != nil {
				if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(v)
				}
				s.log.LogAttrs(r.Context(), slog.LevelError, "a request panicked",
					append(s.about(r, ""), slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))...)
				s.refuse(a, r, &event.Error{Kind: event.ErrInternal, Message: "something went wrong inside the server"})
			}
			s.note(r, rt.method, rt.path, a, time.Since(begun))
		}()
		var err error
		if r, err = s.check(&rt, a, r); err == nil {
			err = rt.handle(a, r)
		}
		if err != nil {
			s.refuse(a, r, err)
		}
	})
}

// check checks a request's credential and parameters. It returns the request with its caller. It is not part of serve,
// whose stack lasts as long as the request.
//
//go:noinline
func (s *Server) check(rt *route, a *answer, r *http.Request) (*http.Request, error) {
	if r.Method == http.MethodHead && strings.HasSuffix(rt.path, "/stream") {
		// Its head would come, and the connection would be waiting for the stream's end.
		return r, wrongMethod([]string{http.MethodGet})(a, r)
	}
	if rt.scope != "" {
		c, err := s.admit(a.ResponseWriter, r, rt.scope)
		r = r.WithContext(context.WithValue(r.Context(), caller{}, &c))
		if err != nil {
			return r, err
		}
	}
	if rt.api() {
		if _, err := query(r, s.parameters[rt.method+" "+rt.path]...); err != nil {
			return r, err
		}
	}
	return r, nil
}

// admit authenticates the caller by the credential alone, and checks its scope. It refuses in the form of RFC 6750,
// section 3. With an error, the returned caller is only for the log and the audit.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, scope service.Scope) (door.Caller, error) {
	const realm = `Bearer realm="braid"`
	given := strings.HasPrefix(r.Header.Get("Authorization"), bearerPrefix)
	c, err := s.door.OpenFor(r, bearer(r))
	switch {
	case err != nil && event.KindOf(err) != event.ErrUnauthenticated: // it cannot be found out now
		return c, err
	case err != nil && given:
		w.Header().Set("WWW-Authenticate", realm+`, error="invalid_token"`)
		return c, err
	case err != nil:
		w.Header().Set("WWW-Authenticate", realm)
		return c, err
	}
	if err := c.Require(scope); err != nil {
		w.Header().Set("WWW-Authenticate", realm+`, error="insufficient_scope", scope="`+string(scope)+`"`)
		return c, err
	}
	return c, s.door.Pass(r.Context(), &c, w.Header())
}
