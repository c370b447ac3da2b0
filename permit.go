package braid

import (
	"path"
	"slices"

	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/permission"
)

// Permissions say which tools an agent may call by itself, for which of them a person is
// asked at each call, and which it may not call at all. The lists hold names of tools, or
// patterns of them in the syntax of [path.Match]: "get_*", "weather___*" for all tools of the
// MCP server called weather, "*". A name counts before a pattern, the pattern with more
// letters that are no wildcards before that with fewer, and among equals Deny before Ask
// before Allow. What nothing fits is allowed.
//
// The zero value allows everything.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
	// Grants keeps what people have allowed for always. nil keeps it in memory as long as the agent lives.
	Grants grant.Store
}

// Permit sets what the agent may call. It holds for what the model asks for, also of agents
// that are used as tools below it, and it is asked after the hooks before a tool, about what
// they made of the call. Of several the strictest counts.
//
// A call that is denied, or that a person refuses, is an error result, which the model reads
// with the person's reason. One for which a person is to be asked waits as [Ask] does, and other
// calls go on. If a hook changes the tool or the arguments after the approval, or the tool changes
// its description or schema, Braid asks again.
//
// A call that had begun when its driver died goes by the log: it was permitted then.
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

// Check says whether a list holds what is no pattern of tools' names: an error of the kind
// [event.ErrInvalid].
func (p Permissions) Check() error {
	if _, err := permission.New(p.Allow, p.Ask, p.Deny, p.Grants); err != nil {
		return err
	}
	return nil
}

// Idle lists those of the patterns that fit none of the tools: most likely they are
// misspelt, and hold nothing back.
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
