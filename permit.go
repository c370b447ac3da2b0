package braid

import (
	"path"
	"slices"

	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/permission"
)

// Permissions say which tools an agent may call, for which calls a user is asked, and which tools it may not call. The
// lists hold names of tools, or patterns in the syntax of [path.Match]: "get_*", "weather___*" for all tools of the
// MCP server called weather, "*". A name counts before a pattern. Of two patterns, the one with more letters outside
// wildcards counts. Among equals Deny counts before Ask, and Ask before Allow. A tool that nothing matches is allowed.
//
// The zero value allows everything.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
	// Grants stores lasting approvals. nil keeps them in memory for the life of the agent.
	Grants grant.Store
}

// Permit sets which tools the agent may call. It applies to the calls that its model asks for and to those of agents
// used as tools below it. It is checked after the hooks before a tool, on the call as they left it. If there are
// several, the strictest counts.
//
// A denied or refused call gets an error result, which the model reads with the user's reason. A call that needs
// approval waits as with [Ask], and other calls go on. If a hook changes the tool or the arguments after the approval,
// or the tool changes its description or schema, Braid asks again.
//
// If the driver died during a call, the next driver does not check the call again: the log says that it was permitted.
func Permit(p Permissions) Part {
	return partFunc(func(a *Agent) error {
		policy, err := permission.New(p.Allow, p.Ask, p.Deny, p.Grants)
		if err != nil {
			err.Op = "agent " + a.set.Name
			return err
		}
		a.set.Permits = append(a.set.Permits, policy)
		return nil
	})
}

// Check reports an invalid pattern as an error of kind [event.ErrInvalid].
func (p Permissions) Check() error {
	if _, err := permission.New(p.Allow, p.Ask, p.Deny, p.Grants); err != nil {
		return err
	}
	return nil
}

// Idle lists the patterns that match none of the tools. They are probably misspelt.
func (p Permissions) Idle(tools []string) (idle []string) {
	for _, list := range [][]string{p.Allow, p.Ask, p.Deny} {
		for _, pattern := range list {
			if !slices.ContainsFunc(tools, func(name string) bool { fits, _ := path.Match(pattern, name); return fits }) {
				idle = append(idle, pattern)
			}
		}
	}
	return idle
}
