// Package permission says which tools an agent may call, and which approvals allow a call.
package permission

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
)

// Effect is what a policy says of a tool. The stricter one is the greater.
type Effect uint8

// The effects, from the mildest on.
const (
	Allow Effect = iota
	Ask
	Deny
)

// Policy says which tools may be called.
type Policy struct {
	// Grants keeps what is allowed for always.
	Grants grant.Store
	// rules are in the order in which they are looked through.
	rules []rule
}

// rule is one pattern of a policy.
type rule struct {
	pattern string
	effect  Effect
	// letters counts the letters that are no wildcards. A name without wildcards has more than any pattern.
	letters int
}

// New returns the policy of three lists of names and patterns. It keeps grants in memory if it gets no store. The error
// has the kind [event.ErrInvalid] and names what is no pattern.
func New(allow, ask, deny []string, grants grant.Store) (*Policy, *event.Error) {
	p := &Policy{Grants: grants}
	if p.Grants == nil {
		p.Grants = &grant.Memory{}
	}
	for effect, list := range [][]string{Allow: allow, Ask: ask, Deny: deny} {
		for _, pattern := range list {
			letters, ok := lettersOf(pattern)
			if !ok {
				return nil, &event.Error{
					Kind: event.ErrInvalid, Message: fmt.Sprintf("%q is no pattern of tools' names", pattern),
					Hint: `use letters, digits, _ and -, with * for any number of them and ? for one, as in "get_*"`,
				}
			}
			p.rules = append(p.rules, rule{pattern: pattern, effect: Effect(effect), letters: letters})
		}
	}
	slices.SortStableFunc(p.rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.letters, a.letters), cmp.Compare(b.effect, a.effect))
	})
	return p, nil
}

// Effect returns what the policy says of a tool.
func (p *Policy) Effect(tool string) Effect {
	for i := range p.rules {
		if fits, _ := path.Match(p.rules[i].pattern, tool); fits {
			return p.rules[i].effect
		}
	}
	return Allow
}

// lettersOf counts the letters of a pattern that are no wildcards. ok is false for one that no tool's name can fit.
func lettersOf(pattern string) (n int, ok bool) {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return 0, false
	}
	wild, class := false, false
	for _, r := range pattern {
		switch {
		case class:
			class = r != ']'
		case r == '[':
			wild, class = true, true
		case r == '*' || r == '?':
			wild = true
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-':
			n++
		default:
			return 0, false
		}
	}
	if !wild {
		n = 1 << 20
	}
	return n, true
}
