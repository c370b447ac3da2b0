package mcptool

import (
	"slices"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// followers are the agents whose tools are kept those of the servers.
type followers struct {
	mu   sync.Mutex
	list []*follower
}

// Agent is what [Servers.Follow] needs of an agent. A [github.com/braidrun/braid.Agent] is one.
type Agent interface {
	// Tools returns the tools that the agent has now.
	Tools() []tool.Tool
	// ReplaceTools removes the tools of these names and adds others, in one step, or changes nothing and returns an error.
	ReplaceTools(remove []string, tools ...tool.Tool) error
}

type follower struct {
	agent  Agent
	failed func(error)
}

// Follow keeps the tools of an agent, made with the servers as its source, those of the servers: when a server
// says that its list has changed (notifications/tools/list_changed), or [Servers.Refresh] has
// reached one that was not there, the next model call of each of the agent's runs is offered the
// new list. A model call that has begun is answered with what it was offered, also by the
// servers, which may refuse it. The log names the tools of a model call where they differ from
// those before it ([event.StepBegun].Tools).
//
// Where the new list cannot be given, because the agent has other tools of such a name or its
// model refuses a schema, the agent keeps what it has, and failed, which may be nil, is told why.
// Follow changes the agent once, at once; the function that it returns ends it. It is for agents
// of one process: those that others drive follow their own servers.
func (s *Servers) Follow(agent Agent, failed func(error)) (stop func()) {
	one := &follower{agent, failed}
	s.followers.mu.Lock()
	s.followers.list = append(s.followers.list, one)
	s.hand(one)
	s.followers.mu.Unlock()
	return func() {
		s.followers.mu.Lock()
		defer s.followers.mu.Unlock()
		s.followers.list = slices.DeleteFunc(s.followers.list, func(f *follower) bool { return f == one })
	}
}

// handAll gives the followers what the servers offer now.
func (s *Servers) handAll() {
	s.followers.mu.Lock()
	defer s.followers.mu.Unlock()
	for _, one := range s.followers.list {
		s.hand(one)
	}
}

// hand gives an agent what the servers offer now, in the place of what it has of them. The caller holds the
// followers' lock, so that an older list never comes after a newer one.
func (s *Servers) hand(one *follower) {
	var had []string
	for _, t := range one.agent.Tools() {
		if t, ok := t.(*Tool); ok && slices.Contains(s.list, t.from) {
			had = append(had, t.Spec().Name)
		}
	}
	tools := s.Tools()
	same := len(had) == len(tools)
	for i := 0; same && i < len(tools); i++ {
		t := one.agent.Tools()[slices.IndexFunc(one.agent.Tools(), func(t tool.Tool) bool { return t.Spec().Name == had[i] })]
		own, ok := t.(*Tool)
		other, is := tools[i].(*Tool)
		same = ok && is && own.from == other.from && had[i] == other.Spec().Name && own.Digest() == other.Digest()
	}
	if same {
		return
	}
	if err := one.agent.ReplaceTools(had, tools...); err != nil && one.failed != nil {
		one.failed(&event.Error{
			Op: "mcp", Kind: event.KindOf(err), Message: "the agent keeps the tools that it had of its MCP servers",
			Hint: "rename what clashes: see Options.Naming and Options.Reserved", Err: err,
		})
	}
}
