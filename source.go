package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/tool"
)

// From adds what sources of tools offer when the agent is made: their tools, and their instructions below the agent's
// [Instructions], with an empty line between, in the order in which they are added. The first event of each run
// records how the servers of the tools are doing; see [tool.ServerSource]. A source that is nil is left out.
func From(sources ...tool.Source) Part {
	return partFunc(func(a *Agent) error {
		for _, s := range sources {
			if foreign.IsNil(s) {
				continue
			}
			if text := s.Instructions(); text != "" {
				a.below = append(a.below, text)
			}
			if err := Tools(s.Tools()...).attach(a); err != nil {
				return err
			}
			if s, ok := s.(tool.ServerSource); ok {
				a.set.Servers = bothServers(a.set.Servers, s.ToolServers)
			}
		}
		return nil
	})
}

// bothServers returns what lists the servers of earlier sources and those of the next one. before may be nil.
func bothServers(before, next func() []event.ToolServer) func() []event.ToolServer {
	if before == nil {
		return next
	}
	return func() []event.ToolServer { return slices.Concat(before(), next()) }
}
