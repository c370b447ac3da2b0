package serve

import (
	"strings"

	"github.com/braidrun/braid/server/agui"
	"github.com/braidrun/braid/server/front"
)

// addAGUI adds AG-UI's route in front of the native API.
func (s *Server) addAGUI() {
	api := &s.options.API
	s.handler = agui.New(front.Options{
		Service: s.service, Door: s.api.Door(), Next: s.handler, Base: strings.TrimSuffix(api.Base, "/"), Hosts: api.Hosts, Origins: api.Origins,
		Observe: s.metrics.Request, Refused: s.metrics.Refused, Log: s.log,
	})
}
