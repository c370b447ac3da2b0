package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
)

// guard refuses what must not reach any route: a foreign Host or Origin.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := "req_" + strings.ToLower(rand.Text())
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r = r.WithContext(context.WithValue(r.Context(), requestID{}, id))
		if !s.ownHost(r.Host) {
			s.refuse(w, r, &event.Error{
				Kind: event.ErrPermission, Message: "this server does not answer under that name",
				Hint: "ask it under its own address, or let the operator add the name",
			})
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !s.ownOrigin(origin, r.Host) {
			s.refuse(w, r, &event.Error{
				Kind: event.ErrPermission, Message: "pages of that site may not ask this server", Hint: "let the operator add the site",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.ContainsFunc(s.options.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func (s *Server) ownOrigin(origin, host string) bool {
	if slices.Contains(s.options.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == host
}

type (
	requestID struct{}
	principal struct{}
)

func idOf(r *http.Request) string {
	id, _ := r.Context().Value(requestID{}).(string)
	return id
}

func who(r *http.Request) service.Principal {
	p, _ := r.Context().Value(principal{}).(service.Principal)
	return p
}

// serve is the way of every request: credential, handler, error, line in the log.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		a := &answer{ResponseWriter: w}
		defer func() {
			if v := recover(); v != nil {
				if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(v)
				}
				s.log.Error("a request panicked", "request", idOf(r), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				s.refuse(a, r, &event.Error{Kind: event.ErrInternal, Message: "something went wrong inside the server"})
			}
			took := time.Since(begun)
			s.metrics.request(rt.method, rt.path, a.status(), took)
			s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("request", idOf(r)), slog.String("method", r.Method),
				slog.String("route", rt.path), slog.Int("status", a.status()), slog.Duration("took", took))
		}()
		if !rt.open {
			p, err := s.authenticate(r)
			if err != nil {
				w.Header().Set("WWW-Authenticate", `Bearer realm="braid"`)
				s.refuse(a, r, err)
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), principal{}, p))
		}
		if err := rt.handle(a, r); err != nil {
			s.refuse(a, r, err)
		}
	})
}

// authenticate finds the tenant in the credential, and nowhere else.
func (s *Server) authenticate(r *http.Request) (service.Principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !s.options.Token.Equal(secret.New(token)) {
		return service.Principal{}, &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the request has no valid token",
			Hint: "send the token that the server printed when it started: Authorization: Bearer …",
		}
	}
	return service.Principal{Tenant: s.options.Tenant}, nil
}

// answer remembers what was answered.
type answer struct {
	http.ResponseWriter

	code int
}

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) status() int {
	if a.code == 0 {
		return http.StatusOK
	}
	return a.code
}
