package serve

import (
	"strings"

	"github.com/braidrun/braid/server/adk"
	"github.com/braidrun/braid/server/front"
)

// addADK adds the routes for clients of Google's ADK in front of the native API.
func (s *Server) addADK() {
	api := &s.options.API
	s.handler = adk.New(adk.Options{Directory: s.people, Version: api.Version, Options: front.Options{
		Service: s.service, Door: s.api.Door(), Next: s.handler, Base: strings.TrimSuffix(api.Base, "/"), Hosts: api.Hosts, Origins: api.Origins,
		Observe: s.metrics.Request, Refused: s.metrics.Refused, Log: s.log,
	}})
}
