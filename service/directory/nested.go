package directory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// MostNested is the largest number of levels of sub-agents.
const MostNested = 4

// checkNested refuses an agent whose tree of sub-agents is invalid, or with which the tree of
// another agent of the tenant would become invalid. Missing sub-agents, which [referrer] refuses,
// count as agents without sub-agents. Pinned versions count as they are. Older versions that are
// not pinned do not count.
func checkNested(tx *database.Tx, op string, a *Agent) error {
	now, before := &nesting{tx: tx, op: op, with: a}, &nesting{tx: tx, op: op, tenant: a.Tenant}
	now.tenant = a.Tenant
	if err := now.check(a); err != nil {
		return err
	}
	seen, todo := map[string]bool{a.ID: true}, []string{a.ID}
	for len(todo) > 0 {
		above, err := agentsAbove(tx, a.Tenant, todo[0])
		if err != nil {
			return err
		}
		todo = todo[1:]
		for i := range above {
			p := &above[i]
			if seen[p.ID] {
				continue
			}
			seen[p.ID] = true
			todo = append(todo, p.ID)
			if err := now.check(p); err != nil && before.check(p) == nil {
				return err
			}
		}
	}
	return nil
}

// agentsAbove returns the tenant's agents that have an agent as a sub-agent, now or in an older
// version, because an older version may be pinned. It returns their newest versions.
func agentsAbove(tx *database.Tx, tenant, id string) (list []Agent, err error) {
	err = tx.List(selectAgent+` AND v.version = a.version WHERE a.tenant = ? AND a.id IN (
			SELECT agent FROM agent_version WHERE tenant = ? AND doc LIKE ?) ORDER BY a.id`,
		[]any{tenant, tenant, `%"agent":"` + id + `"%`}, func(scan func(...any) error) error {
			a, err := scanAgent(scan)
			list = append(list, a)
			return err
		})
	return list, err
}

// nesting checks trees of sub-agents.
type nesting struct {
	tx     *database.Tx
	op     string
	tenant string
	// with replaces the stored version of an agent; nil replaces nothing.
	with  *Agent
	known map[agentKey]*AgentSpec
}

// check checks the tree of an agent.
func (n *nesting) check(a *Agent) error {
	return n.below(&a.AgentSpec, []string{a.ID}, a.ID, map[string]string{a.ID: a.ID})
}

// below checks the tree below a spec. path are the ids of the agents above it, trail is its place
// for error messages, and names are the names in use with their trails.
func (n *nesting) below(spec *AgentSpec, path []string, trail string, names map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(spec.SubAgents)) {
		sub := spec.SubAgents[name]
		here := trail + " > " + name
		if sub.Agent != "" && sub.Agent != name {
			here += " (" + sub.Agent + ")"
		}
		switch taken, twice := names[name]; {
		case sub.Agent != "" && slices.Contains(path, sub.Agent):
			return n.refuse(fmt.Sprintf("the agent %s would be below itself: %s", sub.Agent, here), "remove it from one of these places")
		case twice:
			return n.refuse(fmt.Sprintf("two agents are called %s: %s, and %s", name, taken, here), "give one of them another name")
		case len(path) > MostNested:
			return n.refuse("an agent is nested too deeply: "+here, fmt.Sprintf("use at most %d levels of sub-agents", MostNested))
		}
		names[name] = here
		if sub.Agent == "" {
			continue
		}
		of, err := n.spec(sub.Agent, sub.Version)
		if err == nil && of != nil {
			err = n.below(of, append(slices.Clip(path), sub.Agent), here, names)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spec returns the spec of an agent. It returns nil if there is none.
func (n *nesting) spec(id string, version int) (*AgentSpec, error) {
	if n.with != nil && n.with.ID == id && (version == 0 || version == n.with.Version) {
		return &n.with.AgentSpec, nil
	}
	key := agentKey{n.tenant, id, version}
	if s, ok := n.known[key]; ok {
		return s, nil
	}
	var spec *AgentSpec
	a, err := getAgent(n.tx, n.op, n.tenant, id, version)
	switch {
	case err == nil:
		spec = &a.AgentSpec
	case !isNotFound(err):
		return nil, err
	}
	if n.known == nil {
		n.known = make(map[agentKey]*AgentSpec)
	}
	n.known[key] = spec
	return spec, nil
}

func (n *nesting) refuse(message, hint string) error {
	return &event.Error{Op: n.op, Kind: event.ErrInvalid, Code: "SUB_AGENTS_INVALID", Message: message, Hint: hint}
}
