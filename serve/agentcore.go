package serve

import (
	"context"
	"net/http"
	"strings"

	"github.com/braidrun/braid/console"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

// addAgentCore adds AgentCore's routes and the page in front of the native API.
func (s *Server) addAgentCore() error {
	o := s.options.AgentCore
	o.Service, o.Tenant = s.service, service.DefaultTenant
	api := &s.options.API
	if o.Hosts == nil {
		o.Hosts = api.Hosts
	}
	if o.Origins == nil {
		o.Origins = api.Origins
	}
	o.Base = strings.TrimSuffix(api.Base, "/")
	if o.Observe == nil {
		o.Observe = s.metrics.Request
	}
	if o.Refused == nil {
		o.Refused = s.metrics.Refused
	}
	if o.Log == nil {
		o.Log = s.log
	}
	if o.Card.Name == "" && s.options.Agent != nil {
		o.Card.Name = s.options.Agent.Name()
	}
	// Behind the platform serve only the paths that it calls.
	if o.TrustPlatform {
		o.Next = nil
	} else {
		o.Door, o.Next = s.api.Door(), withPage(s.handler, o.Base)
	}
	handler, err := agentcore.New(o)
	if err != nil {
		return err
	}
	s.handler = handler
	s.undo = append(s.undo, func() error { return handler.Close(context.Background()) })
	return nil
}

// withPage adds the page in front of next, below the base. The page needs no credential.
func withPage(next http.Handler, base string) http.Handler {
	page := http.StripPrefix(base, console.AgentCore())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path, below := strings.CutPrefix(r.URL.Path, base); {
		case below && (path == "/" || path == "/page.js" || path == "/stream.js" || path == "/style.css"):
			page.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
