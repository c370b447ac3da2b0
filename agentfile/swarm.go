package agentfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow"
)

// swarm reads a swarm.
func (l *loader) swarm(f *fields, name string, depth int) *braid.Agent {
	s := flow.Swarm{
		Name: name, Start: f.text("start"), Handoffs: f.number("handoffs"), Steps: f.number("steps"), Timeout: f.duration("timeout"),
		NodeTimeout: f.duration("node_timeout"), Brief: f.yes("brief"),
	}
	f.each("members", func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			s.Members = append(s.Members, flow.Member{Agent: l.agentOf(n, depth)})
			return
		}
		one := l.fields(n)
		m := flow.Member{Agent: l.agentOf(one.get("agent"), depth), Description: one.text("description"), Timeout: one.duration("timeout")}
		one.end()
		s.Members = append(s.Members, m)
	})
	if v := f.get("ping_pong"); v != nil {
		one := l.fields(v)
		s.PingPong = flow.PingPong{Window: one.number("window"), Agents: one.number("agents")}
		one.end()
	}
	if l.err != nil {
		return nil
	}
	return s.Agent()
}
