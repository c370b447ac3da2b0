package agentcore

import (
	"cmp"
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// ForAgent makes a handler for one agent, for your own program inside AgentCore Runtime:
//
//	h, err := agentcore.ForAgent(ctx, agent, agentcore.Options{TrustPlatform: true})
//	…
//	err = http.ListenAndServe(":8080", h)
//
// It keeps sessions in memory, as the platform does with a session's machine. The agent's own
// limits apply, and callers can choose neither its model nor its output format. The caller closes
// the handler. The error is that of [New] or of starting the service.
func ForAgent(ctx context.Context, agent *braid.Agent, o Options) (*Handler, error) {
	if agent == nil {
		return nil, wrong("there is no agent", "make one with braid.New")
	}
	if err := agent.Err(); err != nil {
		return nil, err
	}
	if o.Service != nil {
		return nil, wrong("the handler is to have an agent and a service", "use New for the service")
	}
	s, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{}, Log: o.Log,
		Memory: service.NewMemory(service.MemoryFor(cmp.Or(max(o.BodyBytes, 0), DefaultBodyBytes))),
		Agent:  service.OneAgent(agent),
	})
	if err != nil {
		return nil, err
	}
	if o.Card.Name == "" {
		o.Card.Name = agent.Name()
	}
	o.Service = s
	h, err := New(o)
	if err != nil {
		return nil, err
	}
	h.own = true
	return h, s.Start(ctx)
}
